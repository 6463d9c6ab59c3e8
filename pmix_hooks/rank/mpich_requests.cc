// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/mpich_requests.h"

#include <sys/mman.h>

#include <bit>

#include "pmix_hooks/rank/innermost_call.h"
#include "pmix_hooks/rank/mpich_counting.h"
#include "pmix_hooks/rank/notes.h"
#include "pmix_hooks/rank/persistent.h"

namespace ondeloc {
namespace {

struct KeptCall {
  CountCall count;
  Word words[11];
};

struct State {
  PointerMap calls;  // by request: whether it is a collective's, and the KeptCall, which is reused
};
constinit State state{};

KeptCall* new_call() {
  void* memory =
      mmap(nullptr, sizeof(KeptCall), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<KeptCall*>(memory);
}

const KeptCall* call_of(void* request) {
  const MapEntry* entry = state.calls.find(request);
  if (entry == nullptr || entry->first.load(std::memory_order_acquire) == 0) return nullptr;
  return std::bit_cast<const KeptCall*>(entry->second.load(std::memory_order_relaxed));
}

void forget_call(void* request) {
  if (MapEntry* entry = state.calls.find(request)) entry->first.store(0, std::memory_order_release);
}

void count_start(void* request) {
  if (const KeptCall* call = call_of(request)) return call->count(call->words);
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

void mpich_remember_call(Word request, CountCall count, const Word* words, int arguments) {
  if (request == nullptr) return;
  MapEntry* entry = state.calls.find_or_insert(mpich_handle_at(request));
  KeptCall* call = nullptr;
  if (entry != nullptr)
    call = std::bit_cast<KeptCall*>(entry->second.load(std::memory_order_relaxed));
  if (entry != nullptr && call == nullptr) call = new_call();
  if (call == nullptr) return add_note(ONDELOC_NOTE_NO_MEMORY);
  call->count = count;
  for (int i = 0; i < arguments; ++i) call->words[i] = words[i];
  entry->second.store(std::bit_cast<std::uint64_t>(call), std::memory_order_relaxed);
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
