// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/next_function.h"

#include <unistd.h>

#include <bit>
#include <cstring>

#include "pmix_hooks/open_mpi_facts.h"
#include "pmix_hooks/rank/text.h"

namespace ondeloc {
namespace {

NextFunction known_next(const Reached& reached, const void* caller) {
  const MapEntry* entry = reached.callers.find(caller);
  if (entry == nullptr) return {nullptr, false};
  return {std::bit_cast<void*>(entry->first.load(std::memory_order_acquire)),
          entry->second.load(std::memory_order_relaxed) != 0};
}

void remember_next(Reached& reached, const void* caller, const NextFunction& next) {
  MapEntry* entry = reached.callers.find_or_insert(caller);
  if (entry == nullptr) return;
  entry->second.store(next.foreign ? 1 : 0, std::memory_order_relaxed);
  entry->first.store(std::bit_cast<std::uint64_t>(next.function), std::memory_order_release);
}

}  // namespace

NextFunction find_next(Reached& reached, const char* name, const void* caller) {
  void* function = reached.next.load(std::memory_order_acquire);
  if (function != nullptr) return {function, false};
  if (const NextFunction known = known_next(reached, caller); known.function != nullptr)
    return known;
  function = next_symbol(name);
  if (function != nullptr) {
    reached.next.store(function, std::memory_order_release);
    return {function, false};
  }
  const NextFunction next = local_symbol(name, caller);
  if (next.function != nullptr) remember_next(reached, caller, next);
  return next;
}

int nothing_behind(const char* name) {
  char text[96] = "ondeloc: no MPI library found behind ";
  append_text(text, name);
  append_text(text, "\n");
  if (write(2, text, std::strlen(text)) < 0) return open_mpi::kErrOther;
  return open_mpi::kErrOther;
}

}  // namespace ondeloc
