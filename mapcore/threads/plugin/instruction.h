// SPDX-License-Identifier: MIT
// Facts about one x86 instruction, from its bytes. Thread safety: pure functions.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

namespace ondeloc_threads {

// The bytes of an instruction, and zeros behind them.
using Code = std::array<std::uint8_t, 16>;

// A lock prefix, or an exchange with memory.
inline bool is_atomic(const Code& code) {
  constexpr std::string_view kPrefixes = "\x66\x67\xf2\xf3\x2e\x36\x3e\x26\x64\x65";
  for (const std::uint8_t byte : code) {
    if (byte == 0xf0 || byte == 0x86 || byte == 0x87) return true;
    const bool rex = (byte & 0xf0) == 0x40;
    if (!rex && kPrefixes.find(static_cast<char>(byte)) == kPrefixes.npos) return false;
  }
  return false;
}

}  // namespace ondeloc_threads
