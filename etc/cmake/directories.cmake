# SPDX-License-Identifier: Apache-2.0
# Creates the directories of an installation with mode 0755. CMake creates them under root's umask, often 077, and
# CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS does not help because mkdir obeys the umask too: users could not reach the files.
# This file is included before every install rule. Existing directories keep their modes.
include(${CMAKE_CURRENT_LIST_DIR}/zsh_directory.cmake)
set(ondeloc_directories
    ${CMAKE_INSTALL_BINDIR} ${CMAKE_INSTALL_LIBDIR}/ondeloc ${CMAKE_INSTALL_LIBDIR}/slurm ${CMAKE_INSTALL_LIBEXECDIR}/ondeloc
    ${CMAKE_INSTALL_SYSCONFDIR}/plugstack.conf.d ${CMAKE_INSTALL_MANDIR}/man1 ${CMAKE_INSTALL_MANDIR}/man5
    ${CMAKE_INSTALL_MANDIR}/man7 ${CMAKE_INSTALL_DOCDIR}/etc/doc ${CMAKE_INSTALL_DOCDIR}/etc/examples
    ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    ${ondeloc_zsh_directory} ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(CODE "set(ondeloc_directories \"${ondeloc_directories}\")")
install(CODE [[
  foreach(directory IN LISTS ondeloc_directories)
    cmake_path(ABSOLUTE_PATH directory BASE_DIRECTORY "${CMAKE_INSTALL_PREFIX}")
    set(missing "")
    set(path "$ENV{DESTDIR}${directory}")
    cmake_path(ABSOLUTE_PATH path) # --prefix and DESTDIR may be relative
    while(NOT EXISTS "${path}")
      list(PREPEND missing "${path}")
      cmake_path(GET path PARENT_PATH path)
    endwhile()
    foreach(path IN LISTS missing)
      file(MAKE_DIRECTORY "${path}")
      file(CHMOD "${path}" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
    endforeach()
  endforeach()
]])
