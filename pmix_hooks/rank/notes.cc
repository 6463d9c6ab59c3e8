// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/notes.h"

#include <atomic>

namespace ondeloc {
namespace {

struct State {
  std::atomic<std::uint32_t> bits;
  std::atomic<TellNotes> tell;
};
constinit State state{};

}  // namespace

void notes_start(TellNotes tell) { state.tell.store(tell); }

void add_note(std::uint32_t bits) {
  const std::uint32_t all = state.bits.fetch_or(bits) | bits;
  if (const TellNotes tell = state.tell.load()) tell(all);
}

std::uint32_t all_notes() { return state.bits.load(std::memory_order_relaxed); }

}  // namespace ondeloc
