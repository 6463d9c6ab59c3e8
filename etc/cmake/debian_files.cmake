# SPDX-License-Identifier: Apache-2.0
# Run by cpack on the files of a Debian package: adds the copyright and the changelog that Debian's policy asks for (chapters 4.4
# and 12.5), below the name of the package.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(directory "${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/doc/${CPACK_PACKAGE_NAME}")
file(MAKE_DIRECTORY "${directory}")
file(WRITE "${directory}/copyright" "\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ondeloc
Upstream-Contact: ${CPACK_PACKAGE_CONTACT}

Files: *
Copyright: 2026 the ondeloc authors
License: Apache-2.0

Files: usr/lib/ondeloc/ondeloc_threads.so
Copyright: 2026 the ondeloc authors
License: Expat

License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0.

License: Expat
")
file(STRINGS "${CPACK_ONDELOC_EXPAT}" lines)
foreach(line IN LISTS lines)
  string(STRIP "${line}" line)
  if(line STREQUAL "")
    set(line ".")
  endif()
  file(APPEND "${directory}/copyright" " ${line}\n")
endforeach()
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(WRITE "${directory}/changelog" "\
${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * Built from the sources of ondeloc ${CPACK_PACKAGE_VERSION} for Slurm ${CPACK_ONDELOC_SLURM_RELEASE}.

 -- ${CPACK_PACKAGE_CONTACT}  ${now}
")
execute_process(COMMAND gzip -9n "${directory}/changelog" COMMAND_ERROR_IS_FATAL ANY)
