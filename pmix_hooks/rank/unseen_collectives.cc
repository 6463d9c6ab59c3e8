// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/unseen_collectives.h"

#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/notes.h"
#include "pmix_hooks/rank/persistent.h"

namespace ondeloc {
namespace {

struct State {
  MpiCalls calls;
  ondeloc_slot* slot;
};
constinit State state{};

struct Group {
  int size, rank;
};

// False for an inter-communicator, for one rank and for no communicator.
bool find_group(void* comm, Group& group) {
  int inter = 1;
  return state.calls.comm_test_inter(comm, &inter) == open_mpi::kSuccess && inter == 0 &&
         state.calls.comm_size(comm, &group.size) == open_mpi::kSuccess && group.size > 1 &&
         state.calls.comm_rank(comm, &group.rank) == open_mpi::kSuccess;
}

bool has_to_send(const WatchedCall& call, const Group& group) {
  if (call.path == DataPath::kNone) return true;
  if (call.bytes == 0) return false;
  if (call.path == DataPath::kFromRoot) return call.root == group.rank;
  return call.path != DataPath::kToRoot || call.root != group.rank;
}

void give(const WatchedCall& call, int peer) {
  add_started({cell_code_of(peer, call.comm), call.bytes});
  add_modelled(state.slot, call.bytes);
}

void give_to_all(const WatchedCall& call, const Group& group) {
  for (int peer = 0; peer < group.size; ++peer)
    if (peer != group.rank) give(call, peer);
}

void give_data(const WatchedCall& call, const Group& group) {
  if (call.path == DataPath::kNone) return;
  if (call.path == DataPath::kToRoot) return give(call, call.root);
  if (call.path == DataPath::kByFirst && group.rank != 0) return give(call, 0);
  give_to_all(call, group);
}

}  // namespace

void unseen_collectives_start(const MpiCalls& calls, ondeloc_slot* slot) {
  state.calls = calls;
  state.slot = slot;
}

std::uint64_t messages_so_far() {
  return counting.active.load(std::memory_order_relaxed) ? messages_sent() : 0;
}

bool count_if_unseen(void* comm, ReadCall read, void* const* words) {
  Group group{};
  if (!counting.active.load(std::memory_order_relaxed) || !find_group(comm, group)) return false;
  const WatchedCall call = read(words);
  if (!has_to_send(call, group)) return false;
  add_note(ONDELOC_NOTE_UNSEEN_COLLECTIVES);
  give_data(call, group);
  return true;
}

void add_modelled(ondeloc_slot* slot, std::uint64_t bytes) {
  if (slot == nullptr) return;
  __atomic_fetch_add(&slot->modelled_bytes, bytes, __ATOMIC_RELAXED);
  __atomic_fetch_add(&slot->modelled_messages, 1, __ATOMIC_RELAXED);
}

}  // namespace ondeloc
