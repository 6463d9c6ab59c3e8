// SPDX-License-Identifier: Apache-2.0
// For each request: the addition that its start makes to the counts.
// Thread safety: any thread; the entry of one request is renewed by one thread at a time.
#pragma once

#include "mapcore/segment/layout.h"

#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/notes.h"
#include "pmix_hooks/rank/pointer_map.h"

namespace ondeloc {

class AdditionMap {
 public:
  void remember(const void* request, const Addition& addition) {
    MapEntry* entry = entries_.find_or_insert(request);
    if (entry == nullptr) return add_note(ONDELOC_NOTE_NO_MEMORY);
    entry->second.store(addition.bytes, std::memory_order_relaxed);
    entry->first.store(addition.cell_code, std::memory_order_release);
  }
  void forget(const void* request) {
    if (MapEntry* entry = entries_.find(request)) entry->first.store(0, std::memory_order_release);
  }
  // The cell code is 0 if nothing is known.
  Addition lookup(const void* request) const {
    const MapEntry* entry = entries_.find(request);
    if (entry == nullptr) return {0, 0};
    return {entry->first.load(std::memory_order_acquire),
            entry->second.load(std::memory_order_relaxed)};
  }

 private:
  ObjectMap entries_;
};

}  // namespace ondeloc
