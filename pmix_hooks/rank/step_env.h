// SPDX-License-Identifier: Apache-2.0
// ONDELOC_STEP (mapcore/segment/rank_env.h) as numbers. Untrusted text: bounded, unknown words are
// skipped, a number that is none leaves its default.
#pragma once

#include <cstdint>

namespace ondeloc {

enum class RankTransport { kAuto, kShm, kPmix };

struct StepEnv {
  int fd = -1;
  RankTransport transport = RankTransport::kAuto;
  std::uint32_t interval_ms = 500;
  std::uint32_t local_ranks = 0;
  std::uint32_t world_ranks = 0;
  std::uint32_t job = 0;
  std::uint32_t step = 0;
  std::uint32_t moves = 0;  // 1: ranks are moved
};

// False when the text is not of our version. `text` may be null.
bool parse_step_env(const char* text, StepEnv& step);

}  // namespace ondeloc
