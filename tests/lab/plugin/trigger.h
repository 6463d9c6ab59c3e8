// SPDX-License-Identifier: MIT
// A program of the guest talks to the lab by a no-operation that no compiler makes: nopl
// 0x4e4cCCTT(%rax).
#pragma once
#include <array>
#include <cstdint>
#include <optional>

namespace numalab {

enum class Command : std::uint8_t {
  kOn = 1,        // simulated time runs, counters start at 0
  kOff = 2,       // the guest runs in the host's time, without the lab's cost
  kMark = 3,      // counters and time start at 0
  kDump = 4,      // counters are written, with the tag
  kLabel = 5,     // the label of what follows is shifted by a byte, the tag comes in
  kDistance = 6,  // tag 1: links and ports cost what the description says, 0: nothing
};

struct Trigger {
  Command command;
  std::uint8_t tag;
};

inline constexpr std::size_t kTriggerBytes = 7;

inline std::optional<Trigger> parse_trigger(const std::array<std::uint8_t, kTriggerBytes>& code) {
  if (code[0] != 0x0f || code[1] != 0x1f || code[2] != 0x80) return {};
  if (code[5] != 0x4c || code[6] != 0x4e) return {};
  if (code[4] < 1 || code[4] > static_cast<std::uint8_t>(Command::kDistance)) return {};
  return Trigger{static_cast<Command>(code[4]), code[3]};
}

}  // namespace numalab
