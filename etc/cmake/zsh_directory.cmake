# SPDX-License-Identifier: Apache-2.0
# ondeloc_zsh_directory: the folder of zsh completions. Debian's zsh looks for those of packages in a folder of its own.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr")
  set(ondeloc_zsh_directory ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
else()
  set(ondeloc_zsh_directory ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
endif()
