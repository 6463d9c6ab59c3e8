// SPDX-License-Identifier: Apache-2.0
// Text for formats that escape by a backslash: labels of Prometheus, tags of Influx. Thread safety:
// a pure function.
#pragma once

#include <string>
#include <string_view>

namespace ondeloc {

// Puts a backslash before each character of `special`.
inline std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != special.npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace ondeloc
