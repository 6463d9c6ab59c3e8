# SPDX-License-Identifier: Apache-2.0
# Compiler options against memory errors for the files that a site installs. tests/check/hardening checks the built files.
include(CheckCXXCompilerFlag)
add_compile_definitions(_FORTIFY_SOURCE=2)
# -fcf-protection protects indirect calls and returns on x86. -ftrivial-auto-var-init keeps stale stack out of a program's output.
foreach(option -fstack-protector-strong -fstack-clash-protection -fcf-protection=full -ftrivial-auto-var-init=zero)
  string(MAKE_C_IDENTIFIER "ondeloc_has${option}" known)
  check_cxx_compiler_flag(${option} ${known})
  if(${known})
    add_compile_options($<$<COMPILE_LANGUAGE:C,CXX>:${option}>)
  endif()
endforeach()
