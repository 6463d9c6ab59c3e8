// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/one_sided.h"

#include <cstring>

#include "pmix_hooks/rank/interposed.h"
#include "pmix_hooks/rank/mpich_counting.h"
#include "pmix_hooks/rank/notes.h"
#include "pmix_hooks/rank/persistent.h"
#include "pmix_hooks/rank/reporter.h"
#include "pmix_hooks/rank/symbols.h"

namespace ondeloc {
namespace {

struct State {
  decltype(MpiCalls::win_get_name) get_name;
  const void* open_mpi_no_op;
  bool quick;
  std::atomic<Peers*> last;  // of the last window; null: none yet
};
constinit State state{};

bool is_mpich() { return mpi_family() == MpiFamily::kMpich; }

void* window_handle(void* word) { return is_mpich() ? mpich_word(word) : word; }

void* handle_at(const void* address) {
  return is_mpich() ? mpich_handle_at(address) : *static_cast<void* const*>(address);
}

std::uint64_t element_bytes(void* type) {
  return is_mpich() ? mpich_type_size(type) : type_size(type);
}

// MPI_NO_OP: the target is only read.
bool reads_only(Word operation) {
  if (is_mpich()) return mpich_bits(operation) == mpich_handles.no_op;
  return operation == state.open_mpi_no_op || operation == word_of_bits(standard_abi::kNoOp);
}

// If several threads send, the first window stays, as in counting.cc.
Peers* peers_of_last(void* window) {
  Peers* last = state.last.load(std::memory_order_acquire);
  if (last != nullptr && last->comm.load(std::memory_order_acquire) == window) return last;
  Peers* peers = peers_of_window(window, true);
  if (last == nullptr || !reporter_multiple() ||
      last->comm.load(std::memory_order_relaxed) == nullptr)
    state.last.store(peers, std::memory_order_release);
  return peers;
}

// 0: the target is none (MPI_PROC_NULL), or the window is not counted.
std::uint64_t cell_code_of_target(Word target, Word window) {
  void* handle = window_handle(window);
  Peers* peers = peers_of_last(handle);
  const auto rank = static_cast<std::uint32_t>(int_of(target));
  if (rank >= peers->size) return 0;
  std::uint64_t cell_code = peers->cell_code(rank).load(std::memory_order_relaxed);
  const bool is_new = cell_code == 0;
  if (is_new) cell_code = peers_translate(peers, handle, int_of(target));
  if (state.quick && (is_new || known_cell(int_of(target), handle) == nullptr))
    keep_near(peers, handle);
  return cell_code;
}

ondeloc_cell* fetched_cell(const ondeloc_cell* cell) {
  return cell_of(fetched_cell_code(code_of(cell)));
}

// The bytes of an element of a predefined type; 0: it takes a call to find.
template <bool kStandard>
std::uint64_t known_bytes(Word type) {
  if (is_mpich()) return mpich_predefined_bytes<kStandard>(type);
  const TypeEntry* entry = known_type(type);
  return entry != nullptr ? entry->bytes : 0;
}

// The two directions of one call; a cell code of 0 is nothing.
struct Transfers {
  Addition sent, fetched;
};

Addition fetched(std::uint64_t cell_code, std::uint64_t bytes) {
  return {fetched_cell_code(cell_code), bytes};
}

struct OneSided : CountedInEvery {
  using Found = Transfers;
  static constexpr bool kFinds = true;
  static void add_found(const Found& found) {
    add_started(found.sent);
    add_started(found.fetched);
  }
};

enum class Direction { kToTarget, kFromTarget };

// Elements are counted at the origin: MPI asks for as many bytes at the target.
template <Direction kDirection, int kWindow, bool kLarge = false>
struct Transfer : OneSided {
  static constexpr bool kIsQuick = true;
  template <bool kStandard>
  static KnownAddition quick(const Word* words) {
    const std::uint64_t bytes = known_bytes<kStandard>(words[2]);
    ondeloc_cell* cell = known_cell(int_of(words[3]), window_handle(words[kWindow]));
    if (cell == nullptr || bytes == 0) return {nullptr, 0};
    if (kDirection == Direction::kFromTarget) cell = fetched_cell(cell);
    return {cell, count_of<kLarge>(words[1]) * bytes};
  }
  static void add(const KnownAddition& known) { add_known(known); }
  static Found find(const Word* words) {
    const std::uint64_t cell_code = cell_code_of_target(words[3], words[kWindow]);
    if (cell_code == 0) return {};
    const std::uint64_t bytes = count_of<kLarge>(words[1]) * element_bytes(words[2]);
    if (kDirection == Direction::kToTarget) return {{cell_code, bytes}, {}};
    return {{}, fetched(cell_code, bytes)};
  }
};

template <bool kLarge = false>
struct GetAccumulate : OneSided {
  static Found find(const Word* words) {
    const std::uint64_t cell_code = cell_code_of_target(words[6], words[11]);
    if (cell_code == 0) return {};
    Found found{{}, fetched(cell_code, count_of<kLarge>(words[4]) * element_bytes(words[5]))};
    if (!reads_only(words[10]))
      found.sent = {cell_code, count_of<kLarge>(words[1]) * element_bytes(words[2])};
    return found;
  }
};

struct FetchAndOp : OneSided {
  static Found find(const Word* words) {
    const std::uint64_t cell_code = cell_code_of_target(words[3], words[6]);
    if (cell_code == 0) return {};
    const std::uint64_t bytes = element_bytes(words[2]);
    Found found{{}, fetched(cell_code, bytes)};
    if (!reads_only(words[5])) found.sent = {cell_code, bytes};
    return found;
  }
};

// The new value and the one to compare with go to the target.
struct CompareAndSwap : OneSided {
  static Found find(const Word* words) {
    const std::uint64_t cell_code = cell_code_of_target(words[4], words[6]);
    if (cell_code == 0) return {};
    const std::uint64_t bytes = element_bytes(words[3]);
    return {{cell_code, 2 * bytes}, fetched(cell_code, bytes)};
  }
};

// The memory can serve another window. A delete callback, which runs inside the call, may use the
// window, which is then remembered again.
struct WindowFree : CountedInEvery {
  static constexpr bool kActsBefore = true;
  static void before(const Word* words) {
    if (words[0] != nullptr) forget_comm(handle_at(words[0]));
  }
};

bool makes_messages(void* window) {
  constexpr char kMessages[] = "pt2pt window";
  char name[128] = {};  // MPI_MAX_OBJECT_NAME is 64 and 128
  int length = 0;
  return !is_mpich() && state.get_name != nullptr &&
         state.get_name(window, name, &length) == open_mpi::kSuccess &&
         std::strncmp(name, kMessages, sizeof(kMessages) - 1) == 0;
}

}  // namespace

void one_sided_start(const MpiCalls& calls, CountMode mode) {
  state.quick = mode == CountMode::kShm;
  if (calls.win_get_group != nullptr) state.get_name = calls.win_get_name;
  state.open_mpi_no_op = mpi_object(open_mpi::kNoOp);
}

void window_opened(const void* window, WindowMemory memory) {
  add_note(ONDELOC_NOTE_ONE_SIDED);
  if (memory == WindowMemory::kShared) add_note(ONDELOC_NOTE_SHARED_WINDOW);
  if (!counting.active.load(std::memory_order_relaxed)) return;
  void* handle = handle_at(window);
  forget_comm(handle);  // of a window that was remembered until its end
  if (!makes_messages(handle)) return;
  add_note(ONDELOC_NOTE_WINDOW_SENDS);
  peers_of_window(handle, false);
}

}  // namespace ondeloc

using namespace ondeloc;  // NOLINT: names of this file's classes, in macros

using Put = Transfer<Direction::kToTarget, 7>;
using LargePut = Transfer<Direction::kToTarget, 7, true>;
using Get = Transfer<Direction::kFromTarget, 7>;
using LargeGet = Transfer<Direction::kFromTarget, 7, true>;
using Accumulate = Transfer<Direction::kToTarget, 8>;
using LargeAccumulate = Transfer<Direction::kToTarget, 8, true>;

// NAME, its form with a request, and both with large counts; ARGUMENTS and one more.
#define ONDELOC_TRANSFER(NAME, SMALL, ARGUMENTS, WITH_REQUEST, CALL, LARGE_CALL) \
  ONDELOC_INTERPOSE(NAME, ARGUMENTS, CALL)                                       \
  ONDELOC_INTERPOSE(NAME##_c, ARGUMENTS, LARGE_CALL)                             \
  ONDELOC_INTERPOSE(R##SMALL, WITH_REQUEST, CALL)                                \
  ONDELOC_INTERPOSE(R##SMALL##_c, WITH_REQUEST, LARGE_CALL)

ONDELOC_TRANSFER(Put, put, 8, 9, Put, LargePut)
ONDELOC_TRANSFER(Get, get, 8, 9, Get, LargeGet)
ONDELOC_TRANSFER(Accumulate, accumulate, 9, 10, Accumulate, LargeAccumulate)
ONDELOC_TRANSFER(Get_accumulate, get_accumulate, 12, 13, GetAccumulate<>, GetAccumulate<true>)
ONDELOC_INTERPOSE(Fetch_and_op, 7, FetchAndOp)
ONDELOC_INTERPOSE(Compare_and_swap, 7, CompareAndSwap)
ONDELOC_INTERPOSE(Win_free, 1, WindowFree)
