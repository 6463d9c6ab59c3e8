// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/peers.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <iterator>

#include "mapcore/segment/channel_layout.h"
#include "mapcore/segment/peer_cells.h"
#include "mapcore/segment/used_cells.h"

#include "pmix_hooks/rank/add_message.h"
#include "pmix_hooks/rank/pointer_map.h"

namespace ondeloc {

constinit Peers no_peers{{nullptr}, 0, 0, nullptr, false, {0}, {1}, {0}, {0}};

namespace {

struct State {
  MpiCalls calls;
  LocalTable table;
  const ondeloc_cell* row;
  PeerCells off_node;
  UsedCells used;  // by local rank
  std::uint64_t met_off_node[ONDELOC_PEER_CELLS_MAX / 64];
  void (*no_memory)();
};
constinit State state{};

// Marks as in used_cells.h, of the cells of single ranks off the node.
UsedCells met_off_node() {
  return {state.met_off_node, static_cast<std::uint32_t>(std::size(state.met_off_node))};
}
PointerMap by_comm;
// A list. Taken whole, so that nothing that others put back meanwhile can be mistaken.
std::atomic<Peers*> spares{nullptr};

int peer_count(void* comm) {
  int inter = 0, size = 0;
  if (state.calls.comm_test_inter(comm, &inter) != open_mpi::kSuccess) return 0;
  const auto ask = inter != 0 ? state.calls.comm_remote_size : state.calls.comm_size;
  return ask(comm, &size) == open_mpi::kSuccess && size > 0 ? size : 0;
}

int window_size(void* window) {
  open_mpi::Handle group = nullptr;
  int size = 0;
  if (state.calls.win_get_group == nullptr ||
      state.calls.win_get_group(window, &group) != open_mpi::kSuccess)
    return 0;
  if (state.calls.group_size(group, &size) != open_mpi::kSuccess) size = 0;
  state.calls.group_free(&group);
  return size;
}

void keep_spares(Peers* list) {
  Peers* none = nullptr;
  if (list == nullptr || spares.compare_exchange_strong(none, list)) return;
  Peers* end = list;
  while (end->next != nullptr) end = end->next;
  end->next = none;
  while (!spares.compare_exchange_weak(end->next, list)) {
  }
}

void keep_spare(Peers* peers) {
  peers->next = nullptr;
  keep_spares(peers);
}

Peers* take_spare(std::uint32_t size) {
  Peers* list = spares.exchange(nullptr);
  Peers** link = &list;
  while (*link != nullptr && (*link)->capacity < size) link = &(*link)->next;
  Peers* found = *link;
  if (found != nullptr) *link = found->next;
  keep_spares(list);
  return found;
}

Peers* new_peers(std::uint32_t size) {
  const std::uint64_t wanted = sizeof(Peers) + std::uint64_t{size} * sizeof(std::uint64_t);
  const std::uint64_t bytes = (wanted + 4095) / 4096 * 4096;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    state.no_memory();
    return nullptr;
  }
  auto* peers = static_cast<Peers*>(memory);
  peers->capacity = static_cast<std::uint32_t>((bytes - sizeof(Peers)) / sizeof(std::uint64_t));
  return peers;
}

// If that fails, the communicator has no peers, and nothing is tried again for it.
Peers* make_peers(void* comm, int members, bool window) {
  const auto size = static_cast<std::uint32_t>(members);
  if (members <= 0) return &no_peers;
  Peers* peers = take_spare(size);
  if (peers != nullptr) {
    for (std::uint32_t i = 0; i < size; ++i)
      peers->cell_code(i).store(0, std::memory_order_relaxed);
  } else {
    peers = new_peers(size);  // zero, and without memory where nobody is sent to
  }
  if (peers == nullptr) return &no_peers;
  peers->size = size;
  peers->window = window;
  peers->known.store(0, std::memory_order_relaxed);
  peers->stride.store(1, std::memory_order_relaxed);
  peers->stretch_start.store(0, std::memory_order_relaxed);
  peers->stretch_known.store(0, std::memory_order_relaxed);
  peers->comm.store(comm, std::memory_order_release);
  return peers;
}

void give_back(Peers* peers) {
  if (peers == &no_peers) return;
  peers->comm.store(nullptr, std::memory_order_release);
  keep_spare(peers);
}

// The cells of a half of the row, without those of single ranks off the node.
std::uint32_t cells_of_half() { return state.table.local_ranks + 1; }

// The cell + 1 of a rank off the node.
std::uint32_t cell_off_node(std::uint32_t world) {
  const std::uint32_t at = state.off_node.claim(world);
  if (at == state.off_node.count) return cells_of_half();
  met_off_node().mark(at);
  return 2 * cells_of_half() + at + 1;
}

std::uint32_t cell_of_world(int world) {
  if (world < 0 || static_cast<std::uint32_t>(world) >= state.table.world_ranks)
    return cells_of_half();
  const std::uint32_t local = state.table.local_of_world[world].load(std::memory_order_relaxed);
  if (local == 0 || local > state.table.local_ranks)
    return cell_off_node(static_cast<std::uint32_t>(world));
  state.used.mark(local - 1);
  return local;
}

}  // namespace

void peers_start(const MpiCalls& calls, const LocalTable& table, ondeloc_cell* row,
                 void (*no_memory)()) {
  state.calls = calls;
  state.table = table;
  state.row = row;
  std::fill(std::begin(state.met_off_node), std::end(state.met_off_node), 0);
  state.off_node = peer_cells_of(row, table.local_ranks, table.world_ranks);
  state.used = used_cells_of(row, table.local_ranks, table.world_ranks);
  state.no_memory = no_memory;
}

void peers_stop() { state.calls.group_free(&state.calls.world_group); }

namespace {

// `count_members` is asked once, when the object is new.
template <class CountMembers>
Peers* known_or_made(void* comm, bool window, CountMembers count_members) {
  // Mostly it is there: to look writes nothing that other threads read.
  MapEntry* entry = by_comm.find(comm);
  if (entry == nullptr) entry = by_comm.find_or_insert(comm);
  if (entry == nullptr) {
    state.no_memory();
    return &no_peers;
  }
  std::uint64_t there = entry->first.load(std::memory_order_acquire);
  if (there != 0) return std::bit_cast<Peers*>(there);
  Peers* peers = make_peers(comm, count_members(comm), window);
  if (entry->first.compare_exchange_strong(there, std::bit_cast<std::uint64_t>(peers),
                                           std::memory_order_acq_rel))
    return peers;
  give_back(peers);
  return std::bit_cast<Peers*>(there);
}

}  // namespace

Peers* peers_of(void* comm) { return known_or_made(comm, false, peer_count); }

Peers* peers_of_window(void* window, bool counted) {
  return known_or_made(window, true,
                       [=](void* handle) { return counted ? window_size(handle) : 0; });
}

void peers_forget(void* comm) {
  MapEntry* entry = by_comm.find(comm);
  if (entry == nullptr) return;
  auto* peers = std::bit_cast<Peers*>(entry->first.exchange(0, std::memory_order_acq_rel));
  if (peers != nullptr) give_back(peers);
}

namespace {

open_mpi::Handle group_of(const Peers& peers, void* comm) {
  int inter = 0;
  open_mpi::Handle group = nullptr;
  if (peers.window)
    return state.calls.win_get_group(comm, &group) == open_mpi::kSuccess ? group : nullptr;
  state.calls.comm_test_inter(comm, &inter);
  const auto ask = inter != 0 ? state.calls.comm_remote_group : state.calls.comm_group;
  return ask(comm, &group) == open_mpi::kSuccess ? group : nullptr;
}

struct Known {
  std::int64_t peer, world;
};

Known last_known(const Peers& peers) {
  const std::uint64_t word = peers.known.load(std::memory_order_relaxed);
  return {static_cast<std::int64_t>(word >> 32), static_cast<std::int64_t>(word & 0xFFFFFFFF)};
}

// Open MPI walks through the whole group of the world to find one rank in it; in a group of one
// process it walks one step.
bool is_world_rank(open_mpi::Handle group, int peer, std::int64_t guess) {
  if (guess < 0 || guess >= state.table.world_ranks) return false;
  const auto rank = static_cast<int>(guess);
  open_mpi::Handle alone = nullptr;
  int found = -1;
  if (state.calls.group_incl(state.calls.world_group, 1, &rank, &alone) != open_mpi::kSuccess)
    return false;
  state.calls.group_translate_ranks(group, 1, &peer, alone, &found);
  state.calls.group_free(&alone);
  return found == 0;
}

// Two threads may learn at once: a wrong guess costs a walk, nothing else.
void learn(Peers& peers, const Known& before, const Known& now) {
  const std::int64_t apart = now.peer - before.peer;
  if (apart != 0 && (now.world - before.world) % apart == 0)
    peers.stride.store((now.world - before.world) / apart, std::memory_order_relaxed);
  peers.known.store(
      static_cast<std::uint64_t>(now.peer) << 32 | static_cast<std::uint64_t>(now.world),
      std::memory_order_relaxed);
}

int world_rank_of(Peers& peers, open_mpi::Handle group, int peer) {
  const Known before = last_known(peers);
  const std::int64_t stride = peers.stride.load(std::memory_order_relaxed);
  const std::int64_t guess = before.world + (peer - before.peer) * stride;
  int world = static_cast<int>(guess);
  if (!is_world_rank(group, peer, guess)) {
    world = -1;
    state.calls.group_translate_ranks(group, 1, &peer, state.calls.world_group, &world);
  }
  if (world >= 0) learn(peers, before, {peer, world});
  return world;
}

int ask_for_world_rank(Peers& peers, void* comm, int peer) {
  open_mpi::Handle group = group_of(peers, comm);
  if (group == nullptr) return -1;
  const int world = world_rank_of(peers, group, peer);
  state.calls.group_free(&group);
  return world;
}

// The first peer to be known lies in the middle, or the stretch begins with peer 0.
std::uint64_t start_of_stretch(const Peers& peers, std::uint32_t peer, std::uint32_t cell) {
  const std::uint32_t wanted =
      peers.size <= kStretchPeers ? peer : std::min(peer, kStretchPeers / 2);
  const std::uint32_t back = std::min(wanted, cell);
  return std::uint64_t{cell - back + 1} << 32 | (peer - back);
}

void add_to_stretch(Peers& peers, std::uint32_t peer, std::uint32_t cell) {
  std::uint64_t start = peers.stretch_start.load(std::memory_order_relaxed);
  if (start == 0) {
    const std::uint64_t wanted = start_of_stretch(peers, peer, cell);
    if (peers.stretch_start.compare_exchange_strong(start, wanted, std::memory_order_relaxed))
      start = wanted;
  }
  const std::uint32_t at = peer - static_cast<std::uint32_t>(start);
  if (at < kStretchPeers && static_cast<std::uint32_t>(start >> 32) - 1 + at == cell)
    peers.stretch_known.fetch_or(std::uint64_t{1} << at, std::memory_order_relaxed);
}

}  // namespace

Stretch stretch_of(const Peers& peers) {
  const std::uint64_t start = peers.stretch_start.load(std::memory_order_relaxed);
  if (start == 0) return {0, 0, 0};
  return {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(start >> 32) - 1,
          peers.stretch_known.load(std::memory_order_relaxed)};
}

std::uint64_t peers_translate(Peers* peers, void* comm, int peer) {
  const int world = comm == state.calls.comm_world ? peer : ask_for_world_rank(*peers, comm, peer);
  const std::uint64_t cell_code = cell_code_of_world(world);
  const std::uint32_t cell = static_cast<std::uint32_t>(cell_code) - 1;
  if (cell < state.table.local_ranks)
    add_to_stretch(*peers, static_cast<std::uint32_t>(peer), cell);
  peers->cell_code(static_cast<std::uint32_t>(peer)).store(cell_code, std::memory_order_relaxed);
  return cell_code;
}

std::uint64_t messages_sent() {
  std::uint64_t sum = read_cell(state.row[state.table.local_ranks]).messages;
  const auto add = [&sum](const ondeloc_cell& cell) { sum += read_cell(cell).messages; };
  // Other processes of the user may mark what they like.
  state.used.each([&](std::uint32_t at) {
    if (at < state.table.local_ranks) add(state.row[at]);
  });
  met_off_node().each([&](std::uint32_t at) { add(state.off_node.sent[at]); });
  return sum;
}

std::uint64_t cell_code_of_world(int world) {
  return std::uint64_t{static_cast<std::uint32_t>(world)} << 32 | cell_of_world(world);
}

std::uint64_t fetched_cell_code(std::uint64_t cell_code) {
  const bool in_half = static_cast<std::uint32_t>(cell_code) <= cells_of_half();
  return (cell_code | std::uint64_t{ONDELOC_EVENT_FETCHED} << 32) +
         (in_half ? cells_of_half() : state.off_node.count);
}

bool world_ranks_of(void* comm, bool remote, int size, const int* ranks, int* world) {
  open_mpi::Handle group = nullptr;
  const auto ask = remote ? state.calls.comm_remote_group : state.calls.comm_group;
  if (ask(comm, &group) != open_mpi::kSuccess) return false;
  const int rc =
      state.calls.group_translate_ranks(group, size, ranks, state.calls.world_group, world);
  state.calls.group_free(&group);
  return rc == open_mpi::kSuccess;
}

}  // namespace ondeloc
