# SPDX-License-Identifier: Apache-2.0
# Finds all foreign libraries and headers in one place. A single error lists everything that is missing, with the Debian
# package that brings it.

set(ondeloc_missing "")
function(ondeloc_need what found package)
  if(NOT ${found})
    set(ondeloc_missing "${ondeloc_missing}\n  ${what} (Debian: ${package})" PARENT_SCOPE)
  endif()
endfunction()

find_package(PkgConfig QUIET)
if(PkgConfig_FOUND)
  pkg_check_modules(HWLOC QUIET IMPORTED_TARGET hwloc>=2.4)
  pkg_check_modules(ZSTD QUIET IMPORTED_TARGET libzstd)
  pkg_check_modules(NCURSES QUIET IMPORTED_TARGET ncursesw)
  pkg_check_modules(CAIRO QUIET IMPORTED_TARGET cairo cairo-svg cairo-png)
endif()
find_package(fmt QUIET)
find_package(nlohmann_json QUIET)
find_package(CLI11 QUIET)
find_package(Threads QUIET)
find_path(ONDELOC_SLURM_INCLUDE slurm/spank.h)
find_path(ONDELOC_PMIX_INCLUDE pmix.h PATH_SUFFIXES pmix pmix2/include
          HINTS /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}/pmix2/include)

ondeloc_need("pkg-config" PkgConfig_FOUND pkg-config)
ondeloc_need("hwloc >= 2.4" HWLOC_FOUND libhwloc-dev)
ondeloc_need("zstd" ZSTD_FOUND libzstd-dev)
ondeloc_need("cairo" CAIRO_FOUND libcairo2-dev)
ondeloc_need("ncursesw" NCURSES_FOUND libncurses-dev)
ondeloc_need("fmt" fmt_FOUND libfmt-dev)
ondeloc_need("nlohmann-json" nlohmann_json_FOUND nlohmann-json3-dev)
ondeloc_need("CLI11" CLI11_FOUND libcli11-dev)
ondeloc_need("slurm/spank.h" ONDELOC_SLURM_INCLUDE libslurm-dev)
ondeloc_need("pmix.h" ONDELOC_PMIX_INCLUDE libpmix-dev)
if(ONDELOC_TESTS)
  find_package(Catch2 QUIET)
  ondeloc_need("Catch2 2 or 3, for the tests: -DONDELOC_TESTS=OFF leaves them out" Catch2_FOUND catch2)
endif()
if(ondeloc_missing)
  message(FATAL_ERROR "ondeloc cannot be built; install what was not found:${ondeloc_missing}")
endif()

function(ondeloc_sanitize target)
  if(ONDELOC_SANITIZE)
    target_compile_options(${target} PUBLIC -fsanitize=${ONDELOC_SANITIZE} -fno-omit-frame-pointer
                           -fno-sanitize-recover=all)
    target_link_options(${target} PUBLIC -fsanitize=${ONDELOC_SANITIZE})
  endif()
  # The vptr check tests memory by means of a pipe: in a test without a free file descriptor it takes every object for a broken one.
  if(ONDELOC_SANITIZE MATCHES "undefined")
    target_compile_options(${target} PUBLIC -fno-sanitize=vptr)
  endif()
endfunction()

# Shows libFuzzer which code of a library its inputs reach. The compiler takes a quarter longer for it.
function(ondeloc_guide_fuzzers target)
  if(ONDELOC_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
endfunction()
