// SPDX-License-Identifier: Apache-2.0
// Text for formats that escape by a backslash: labels of Prometheus, tags of Influx. Thread safety:
// pure functions.
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

// A tag of Influx's line protocol. A backslash in it stands for itself, also before another one. At
// the end it would escape the comma behind the tag, and nothing prevents that: it becomes '?'.
inline std::string escaped_tag(std::string_view text) {
  std::string out = escaped(text, ",= ");
  if (out.ends_with('\\')) out.back() = '?';
  return out;
}

}  // namespace ondeloc
