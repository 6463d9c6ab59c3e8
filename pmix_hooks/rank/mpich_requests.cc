// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/mpich_requests.h"

#include <bit>

#include "pmix_hooks/rank/innermost_call.h"
#include "pmix_hooks/rank/mpich_counting.h"
#include "pmix_hooks/rank/notes.h"
#include "pmix_hooks/rank/persistent.h"

namespace ondeloc {
namespace {

struct State {
  PointerMap calls;  // by request: whether it is a collective's, and its KeptMessages
};
constinit State state{};

KeptMessages* messages_in(const MapEntry& entry) {
  return std::bit_cast<KeptMessages*>(entry.second.load(std::memory_order_relaxed));
}

KeptMessages* messages_of(void* request) {
  const MapEntry* entry = state.calls.find(request);
  if (entry == nullptr || entry->first.load(std::memory_order_acquire) == 0) return nullptr;
  return messages_in(*entry);
}

void forget_call(void* request) {
  if (MapEntry* entry = state.calls.find(request)) entry->first.store(0, std::memory_order_release);
}

void count_start(void* request) {
  if (KeptMessages* messages = messages_of(request)) return count_kept(*messages);
  add_started(persistent_lookup(request));
}

}  // namespace

void mpich_remember(Word request, const Addition& addition) {
  if (request != nullptr) persistent_remember(mpich_handle_at(request), addition);
}

void mpich_forget(Word request) {
  if (request == nullptr || !counting.active.load(std::memory_order_relaxed)) return;
  persistent_forget(mpich_handle_at(request));
  forget_call(mpich_handle_at(request));
}

void mpich_remember_call(Word request, CountCall count, const Word* words) {
  if (request == nullptr) return;
  MapEntry* entry = state.calls.find_or_insert(mpich_handle_at(request));
  if (entry == nullptr) return add_note(ONDELOC_NOTE_NO_MEMORY);
  KeptMessages* messages = messages_of_call(count, words, messages_in(*entry));
  if (messages == nullptr) return;
  entry->second.store(std::bit_cast<std::uint64_t>(messages), std::memory_order_relaxed);
  entry->first.store(1, std::memory_order_release);
}

int mpich_start(std::size_t count, void** requests, Start start, void* function) {
  const InnermostCall here;
  const int rc = start(function, count, requests);
  if (rc != 0 || requests == nullptr || !counting.active.load(std::memory_order_relaxed) ||
      !here.counts())
    return rc;
  for (std::size_t i = 0; i < count; ++i) count_start(mpich_handle_in(requests, i));
  return rc;
}

}  // namespace ondeloc
