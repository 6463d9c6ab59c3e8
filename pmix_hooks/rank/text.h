// SPDX-License-Identifier: Apache-2.0
// Bounded copying into character arrays, always zero-terminated; what does not fit is cut.
#pragma once

#include <cstddef>
#include <cstring>

namespace ondeloc {

inline void copy_text(char* to, std::size_t size, const char* from) {
  const std::size_t length = strnlen(from, size - 1);
  std::memcpy(to, from, length);
  to[length] = '\0';
}

template <std::size_t kSize>
void copy_text(char (&to)[kSize], const char* from) {
  copy_text(to, kSize, from);
}

template <std::size_t kSize>
void append_text(char (&to)[kSize], const char* from) {
  const std::size_t used = strnlen(to, kSize - 1);
  copy_text(to + used, kSize - used, from);
}

}  // namespace ondeloc
