// SPDX-License-Identifier: Apache-2.0
// Quantities as the command line and the pictures write them: four digits and a decimal unit, so
// that one amount looks the same in a table and in a legend. Errors: none. Thread safety: pure
// functions.
#pragma once

#include <string>

namespace ondeloc {

std::string seconds_text(double seconds);  // "12 ns", "1.23 us", "12.3 ms", "3.5 s"
std::string bytes_text(double bytes);      // "512 B", "12.3 kB", "1.5 MB": 1 kB is 1000 bytes

}  // namespace ondeloc
