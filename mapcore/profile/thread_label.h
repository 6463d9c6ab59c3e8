// SPDX-License-Identifier: Apache-2.0
// A thread of a profile whose "ranks" are threads of one program. Thread safety: a value.
#pragma once

#include <cstdint>
#include <string>

namespace ondeloc {

struct ThreadLabel {
  std::uint32_t thread = 0;  // by the order of creation
  std::string name;          // that the program gave it; may be empty
  std::string function;      // with which it began; may be empty
  // "worker (run)", or the one of both that is known; may be empty.
  std::string text() const {
    if (name.empty() || function.empty()) return name + function;
    return name + " (" + function + ")";
  }
  friend bool operator==(const ThreadLabel&, const ThreadLabel&) = default;
};

}  // namespace ondeloc
