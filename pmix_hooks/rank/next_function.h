// SPDX-License-Identifier: Apache-2.0
// The function behind an MPI function that this library defines: another tool's, or the MPI
// library's. Thread safety: any thread. Errors: `function` is null, and pass_on() says so.
#pragma once

#include <atomic>

#include "pmix_hooks/rank/pointer_map.h"
#include "pmix_hooks/rank/symbols.h"

namespace ondeloc {

// One machine word of an argument list. Handles are pointers or 32-bit integers, and counts have 32
// or 64 bits: as words they are passed on unchanged, whatever the MPI library makes of them.
using Word = void*;

// The functions that calls of one name reach: one for all callers, if MPI was there when the
// program started, else one for each place that calls.
struct Reached {
  std::atomic<void*> next;
  PointerMap callers;  // the function and whether it is foreign
};

// `caller`: the address that the call returns to.
NextFunction find_next(Reached& reached, const char* name, const void* caller);

// Says on the standard error that there is no MPI library; an MPI error code.
int nothing_behind(const char* name);

template <class... Arguments>
int pass_on(const NextFunction& next, const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<int (*)(Arguments...)>(next.function);
  return function == nullptr ? nothing_behind(name) : function(arguments...);
}

}  // namespace ondeloc
