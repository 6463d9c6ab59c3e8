# SPDX-License-Identifier: Apache-2.0
# Without a preset and without CMAKE_BUILD_TYPE, CMake would optimise nothing and etc/cmake/hardening.cmake would not apply.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release, RelWithDebInfo or Debug" FORCE)
endif()
