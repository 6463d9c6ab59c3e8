# SPDX-License-Identifier: Apache-2.0
# `cpack` in a build directory makes a Debian package. A plugin fits one Slurm release, so the name of the package contains it:
# ondeloc-slurm22.05. Configure with the final prefix (preset "package": /usr), because the plugin contains it.
file(STRINGS ${ONDELOC_SLURM_INCLUDE}/slurm/slurm_version.h ondeloc_slurm_version
     REGEX "^#define SLURM_VERSION_NUMBER 0x[0-9a-f]+")
if(ondeloc_slurm_version MATCHES "0x([0-9a-f][0-9a-f])([0-9a-f][0-9a-f])[0-9a-f][0-9a-f]$")
  math(EXPR ondeloc_major "0x${CMAKE_MATCH_1}")
  math(EXPR ondeloc_minor "0x${CMAKE_MATCH_2}")
  math(EXPR ondeloc_next "${ondeloc_minor} + 1")
  foreach(part minor next)
    if(ondeloc_${part} LESS 10)
      set(ondeloc_${part} "0${ondeloc_${part}}")
    endif()
  endforeach()
  set(ONDELOC_SLURM_RELEASE ${ondeloc_major}.${ondeloc_minor})
else()
  message(FATAL_ERROR "ondeloc: no SLURM_VERSION_NUMBER in ${ONDELOC_SLURM_INCLUDE}/slurm/slurm_version.h")
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME ondeloc-slurm${ONDELOC_SLURM_RELEASE})
cmake_host_system_information(RESULT ondeloc_host QUERY FQDN)
set(ONDELOC_PACKAGE_CONTACT "root <root@${ondeloc_host}>"
    CACHE STRING "who answers for the package at this site: name and mail address")
set(CPACK_PACKAGE_CONTACT ${ONDELOC_PACKAGE_CONTACT})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "places MPI ranks by their communication, for Slurm ${ONDELOC_SLURM_RELEASE}")
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_SET_DESTDIR ON) # the configuration is not below the prefix
set(CPACK_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_STRIP_FILES ON)
file(WRITE ${PROJECT_BINARY_DIR}/conffiles "${CMAKE_INSTALL_FULL_SYSCONFDIR}/plugstack.conf.d/ondeloc.conf\n")
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${PROJECT_BINARY_DIR}/conffiles)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION net)
# Dependencies: the libraries that the built files need, and the Slurm release that the plugin was built for. Slurm's package of
# plugins is on compute and login nodes alike, and brings mpi/pmix.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS
    "slurm-wlm-basic-plugins (>= ${ONDELOC_SLURM_RELEASE}), slurm-wlm-basic-plugins (<< ${ondeloc_major}.${ondeloc_next})")
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libpmix-dev") # srun --mpi=pmix opens libpmix.so, which only this package brings
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "qemu-user") # ondeloc threads record
set(CPACK_DEBIAN_PACKAGE_PROVIDES ondeloc)
set(CPACK_DEBIAN_PACKAGE_CONFLICTS ondeloc)
set(CPACK_DEBIAN_PACKAGE_REPLACES ondeloc)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_LIST_DIR}/debian_files.cmake)
set(CPACK_ONDELOC_EXPAT ${PROJECT_SOURCE_DIR}/mapcore/threads/plugin/LICENSE)
set(CPACK_ONDELOC_SLURM_RELEASE ${ONDELOC_SLURM_RELEASE})
include(CPack)
