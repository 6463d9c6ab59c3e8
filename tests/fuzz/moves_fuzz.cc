// SPDX-License-Identifier: Apache-2.0
// Reports for repeat=: whatever is read has ranks, CPUs and times that can be, in the order of
// time.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "mapcore/report/recorded_moves.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto turns = ondeloc::parse_recorded_moves({reinterpret_cast<const char*>(data), size});
  if (!turns) return 0;
  double last = 0;
  for (const auto& turn : *turns) {
    if (!(turn.seconds >= last) || turn.moves.empty()) std::abort();
    last = turn.seconds;
    for (const auto& move : turn.moves)
      if (move.world_rank < 0 || move.cpus.empty()) std::abort();
  }
  return 0;
}
