// SPDX-License-Identifier: Apache-2.0
// Bounded copying into character arrays, always zero-terminated; what does not fit is cut. And
// numbers: strtoul and its kin would need the C library that they were compiled with (2.38).
#pragma once

#include <cstddef>
#include <cstdint>
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

// The number that the digits at the beginning make, and the place where they end. No digit: 0. Too
// many digits: UINT32_MAX.
inline std::uint32_t leading_number(const char* text, const char** end = nullptr) {
  std::uint64_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text)
    if (value < UINT32_MAX) value = value * 10 + static_cast<std::uint64_t>(*text - '0');
  if (end != nullptr) *end = text;
  return value < UINT32_MAX ? static_cast<std::uint32_t>(value) : UINT32_MAX;
}

}  // namespace ondeloc
