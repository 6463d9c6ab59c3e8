// SPDX-License-Identifier: Apache-2.0
// MPI functions that are counted at their own names, since nothing below can be seen: all sends and
// collectives of the MPICH family, and one-sided communication of every MPI.
//
// An exported function is one jump through a slot. The slot first leads to a search for the next
// function; once the family is known, it leads to that function itself (a program of another family
// then pays for one jump) or to a counting function. What a call adds is counted after the next
// function has returned without an error, by the innermost of nested calls (innermost_call.h). If
// several threads may send, the addition is found before the next function runs: as soon as a
// message has arrived, another thread may free the communicator and the datatype. With one thread
// it is found afterwards, since MPI has then checked the arguments, and no question about them ends
// in an error handler. Thread safety: any thread.
#pragma once

#include <atomic>
#include <utility>

#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/innermost_call.h"
#include "pmix_hooks/rank/mpi_family.h"
#include "pmix_hooks/rank/mpich_handles.h"
#include "pmix_hooks/rank/next_function.h"
#include "pmix_hooks/rank/unseen_collectives.h"

namespace ondeloc {

template <std::size_t>
using WordAt = Word;

// A counting function relies on what was done before a thread stored it in the slot. On x86 every
// load acquires, but compilers make two instructions of a jump that asks for it.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
inline constexpr std::memory_order kJumpOrder = std::memory_order_relaxed;
#else
inline constexpr std::memory_order kJumpOrder = std::memory_order_acquire;
#endif

// `Call` has `kName` and `is_counted(family)`. `words` is the list of arguments. If it has kFinds,
// then `find(words)` tells what the call will add, a `Found`, and `add_found(found)` adds it, else
// `count(words)` does both after the call. If it has kIsQuick, then `quick(words)` tells before the
// call what it will add, if that takes no question to MPI, and `add(addition)` adds it. Such a
// call keeps no argument over the call of the next function, and few registers: most sends are of
// this kind. `before(words)` acts before the next function, and `after(words)` after each call
// without an error; such a call counts nothing itself. As long as `is_watched(family)`, calls go to
// the next function, and `watch(words, messages)` hears how many messages the process has sent
// meanwhile.
template <class Call, class Indexes>
struct Interposed;

template <class Call, std::size_t... k>
struct Interposed<Call, std::index_sequence<k...>> {
  using Function = int (*)(WordAt<k>...);

  static int call(Function function, WordAt<k>... words) {
    const Word list[] = {words...};
    if constexpr (Call::kActsBefore)
      if (counting.active.load(std::memory_order_relaxed)) Call::before(list);
    [[maybe_unused]] typename Call::Found found{};
    const bool early = Call::kFinds && several_threads_send();
    if constexpr (Call::kFinds)
      if (early) found = Call::find(list);
    const InnermostCall here;
    const int rc = function(words...);
    if (__builtin_expect(rc != 0, 0) || !counting.active.load(std::memory_order_relaxed)) return rc;
    if constexpr (Call::kActsAfter) {
      Call::after(list);
    } else if (here.counts()) {
      if constexpr (Call::kFinds)
        Call::add_found(early ? found : Call::find(list));
      else
        Call::count(list);
    }
    return rc;
  }

  // REQUIRES: all callers reach one function, which `reached` names. `kStandard`: mpich_handles.h.
  template <bool kStandard>
  static int counted(WordAt<k>... words) {
    if constexpr (!Call::kIsQuick) return counted_in_full(words...);
    const Word list[] = {words...};
    const KnownAddition known = Call::template quick<kStandard>(list);
    if (__builtin_expect(known.cell == nullptr, 0)) return counted_in_full(words...);
    const InnermostCall here;
    const int rc = known_next()(words...);
    if (__builtin_expect(rc == 0, 1) && here.counts()) Call::add(known);
    return rc;
  }

  [[gnu::noinline]] static int counted_in_full(WordAt<k>... words) {
    return call(known_next(), words...);
  }

  static int watched(Function function, WordAt<k>... words) {
    const Word list[] = {words...};
    const std::uint64_t before = messages_so_far();
    const InnermostCall here;
    const int rc = function(words...);
    if (rc == 0 && here.counts()) Call::watch(list, messages_so_far() - before);
    return rc;
  }

  static Function counted_now() {
    if constexpr (!Call::kIsQuick) return counted<false>;
    return mpich_handles.standard ? counted<true> : counted<false>;
  }

  static Function known_next() {
    return reinterpret_cast<Function>(reached.next.load(std::memory_order_relaxed));
  }

  [[gnu::noinline]] static int first(WordAt<k>... words) {
    const NextFunction next = find_next(reached, Call::kName, __builtin_return_address(0));
    const auto function = reinterpret_cast<Function>(next.function);
    if (function == nullptr) return nothing_behind(Call::kName);
    const MpiFamily family = mpi_family();
    if (next.foreign || family == MpiFamily::kUndecided) return function(words...);
    if (Call::is_watched(family)) return watched(function, words...);
    const bool is_counted = Call::is_counted(family);
    if (reached.next.load(std::memory_order_relaxed) == next.function)
      slot.store(is_counted ? counted_now() : function, std::memory_order_release);
    return is_counted ? call(function, words...) : function(words...);
  }

  static inline constinit Reached reached{};
  // Loaded in kJumpOrder.
  static inline constinit std::atomic<Function> slot{first};
};

template <class Call, std::size_t kArguments>
using InterposedCall = Interposed<Call, std::make_index_sequence<kArguments>>;

// A call has these parts, and hides those that it has in its own way.
struct CountsNothing {
  static constexpr bool kActsBefore = false, kActsAfter = false, kFinds = false, kIsQuick = false;
  struct Found {};
  static void before(const Word*) {}
  static void after(const Word*) {}
  static bool is_watched(MpiFamily) { return false; }
  static void watch(const Word*, std::uint64_t) {}
  static void count(const Word*) {}
  template <bool>
  static KnownAddition quick(const Word*) {
    return {nullptr, 0};
  }
  static void add(const KnownAddition&) {}
};

struct CountedInMpich : CountsNothing {
  static bool is_counted(MpiFamily family) { return family == MpiFamily::kMpich; }
};

struct CountedInEvery : CountsNothing {
  static bool is_counted(MpiFamily family) {
    return family == MpiFamily::kMpich || family == MpiFamily::kOpenMpi;
  }
};

// An `int` argument: the upper half of its word has no meaning.
inline int int_of(Word word) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(word)); }
// An `int`, or in a function whose name ends with _c an `MPI_Count`.
template <bool kLarge>
std::uint64_t count_of(Word word) {
  if constexpr (kLarge) return reinterpret_cast<std::uintptr_t>(word);
  return static_cast<std::uint64_t>(int_of(word));
}

}  // namespace ondeloc

// NOLINTBEGIN(bugprone-macro-parentheses): names and parameter lists.
#define ONDELOC_WORDS_1 ondeloc::Word a
#define ONDELOC_WORDS_2 ONDELOC_WORDS_1, ondeloc::Word b
#define ONDELOC_WORDS_3 ONDELOC_WORDS_2, ondeloc::Word c
#define ONDELOC_WORDS_4 ONDELOC_WORDS_3, ondeloc::Word d
#define ONDELOC_WORDS_5 ONDELOC_WORDS_4, ondeloc::Word e
#define ONDELOC_WORDS_6 ONDELOC_WORDS_5, ondeloc::Word f
#define ONDELOC_WORDS_7 ONDELOC_WORDS_6, ondeloc::Word g
#define ONDELOC_WORDS_8 ONDELOC_WORDS_7, ondeloc::Word h
#define ONDELOC_WORDS_9 ONDELOC_WORDS_8, ondeloc::Word i
#define ONDELOC_WORDS_10 ONDELOC_WORDS_9, ondeloc::Word j
#define ONDELOC_WORDS_11 ONDELOC_WORDS_10, ondeloc::Word k
#define ONDELOC_WORDS_12 ONDELOC_WORDS_11, ondeloc::Word l
#define ONDELOC_WORDS_13 ONDELOC_WORDS_12, ondeloc::Word m
#define ONDELOC_GIVEN_1 a
#define ONDELOC_GIVEN_2 ONDELOC_GIVEN_1, b
#define ONDELOC_GIVEN_3 ONDELOC_GIVEN_2, c
#define ONDELOC_GIVEN_4 ONDELOC_GIVEN_3, d
#define ONDELOC_GIVEN_5 ONDELOC_GIVEN_4, e
#define ONDELOC_GIVEN_6 ONDELOC_GIVEN_5, f
#define ONDELOC_GIVEN_7 ONDELOC_GIVEN_6, g
#define ONDELOC_GIVEN_8 ONDELOC_GIVEN_7, h
#define ONDELOC_GIVEN_9 ONDELOC_GIVEN_8, i
#define ONDELOC_GIVEN_10 ONDELOC_GIVEN_9, j
#define ONDELOC_GIVEN_11 ONDELOC_GIVEN_10, k
#define ONDELOC_GIVEN_12 ONDELOC_GIVEN_11, l
#define ONDELOC_GIVEN_13 ONDELOC_GIVEN_12, m

#define ONDELOC_INTERPOSE_ONE(NAME, ARGUMENTS, ...)                                        \
  namespace {                                                                              \
  struct Call##NAME : __VA_ARGS__ {                                                        \
    static constexpr char kName[] = #NAME;                                                 \
  };                                                                                       \
  }                                                                                        \
  extern "C" [[gnu::visibility("default")]] int NAME(ONDELOC_WORDS_##ARGUMENTS) {          \
    return ondeloc::InterposedCall<Call##NAME, ARGUMENTS>::slot.load(ondeloc::kJumpOrder)( \
        ONDELOC_GIVEN_##ARGUMENTS);                                                        \
  }
// Under both names, with this number of arguments; the rest is the base class of `Call`.
#define ONDELOC_INTERPOSE(NAME, ARGUMENTS, ...)             \
  ONDELOC_INTERPOSE_ONE(MPI_##NAME, ARGUMENTS, __VA_ARGS__) \
  ONDELOC_INTERPOSE_ONE(PMPI_##NAME, ARGUMENTS, __VA_ARGS__)
// NOLINTEND(bugprone-macro-parentheses)
