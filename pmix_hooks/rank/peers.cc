// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/peers.h"

#include <sys/mman.h>

#include <bit>

#include "pmix_hooks/rank/pointer_map.h"

namespace ondeloc {

constinit Peers no_peers{{nullptr}, 0, 0, nullptr};

namespace {

struct State {
  MpiCalls calls;
  LocalTable table;
  open_mpi::Handle world_group;
};
constinit State state{};
PointerMap by_comm;
// A list. Taken whole, so that nothing that others put back meanwhile can be mistaken.
std::atomic<Peers*> spares{nullptr};

int peer_count(void* comm) {
  int inter = 0, size = 0;
  if (state.calls.comm_test_inter(comm, &inter) != open_mpi::kSuccess) return 0;
  const auto ask = inter != 0 ? state.calls.comm_remote_size : state.calls.comm_size;
  return ask(comm, &size) == open_mpi::kSuccess && size > 0 ? size : 0;
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
  if (memory == MAP_FAILED) return nullptr;
  auto* peers = static_cast<Peers*>(memory);
  peers->capacity = static_cast<std::uint32_t>((bytes - sizeof(Peers)) / sizeof(std::uint64_t));
  return peers;
}

Peers* make_peers(void* comm) {
  const auto size = static_cast<std::uint32_t>(peer_count(comm));
  if (size == 0) return nullptr;
  Peers* peers = take_spare(size);
  if (peers != nullptr) {
    for (std::uint32_t i = 0; i < size; ++i) peers->place(i).store(0, std::memory_order_relaxed);
  } else {
    peers = new_peers(size);  // zero, and without memory where nobody is sent to
  }
  if (peers == nullptr) return nullptr;
  peers->size = size;
  peers->comm.store(comm, std::memory_order_release);
  return peers;
}

std::uint32_t cell_of_world(int world) {
  const std::uint32_t off_node = state.table.local_ranks + 1;
  if (world < 0 || static_cast<std::uint32_t>(world) >= state.table.world_ranks) return off_node;
  const std::uint32_t local = state.table.local_of_world[world].load(std::memory_order_relaxed);
  return local == 0 || local > state.table.local_ranks ? off_node : local;
}

}  // namespace

bool peers_start(const MpiCalls& calls, const LocalTable& table) {
  state.calls = calls;
  state.table = table;
  return calls.comm_group(calls.comm_world, &state.world_group) == open_mpi::kSuccess;
}

void peers_stop() { state.calls.group_free(&state.world_group); }

Peers* peers_of(void* comm) {
  MapEntry* entry = by_comm.find_or_insert(comm);
  if (entry == nullptr) return &no_peers;
  std::uint64_t there = entry->first.load(std::memory_order_acquire);
  if (there != 0) return std::bit_cast<Peers*>(there);
  Peers* peers = make_peers(comm);
  if (peers == nullptr) return &no_peers;
  if (entry->first.compare_exchange_strong(there, std::bit_cast<std::uint64_t>(peers),
                                           std::memory_order_acq_rel))
    return peers;
  peers->comm.store(nullptr, std::memory_order_release);
  keep_spare(peers);
  return std::bit_cast<Peers*>(there);
}

void peers_forget(void* comm) {
  MapEntry* entry = by_comm.find(comm);
  if (entry == nullptr) return;
  auto* peers = std::bit_cast<Peers*>(entry->first.exchange(0, std::memory_order_acq_rel));
  if (peers == nullptr) return;
  peers->comm.store(nullptr, std::memory_order_release);
  keep_spare(peers);
}

namespace {

// Open MPI walks through the whole group of the world for it, for every peer anew.
int ask_for_world_rank(void* comm, int peer) {
  int inter = 0, world = -1;
  open_mpi::Handle group = nullptr;
  state.calls.comm_test_inter(comm, &inter);
  const auto group_of = inter != 0 ? state.calls.comm_remote_group : state.calls.comm_group;
  if (group_of(comm, &group) != open_mpi::kSuccess) return -1;
  state.calls.group_translate_ranks(group, 1, &peer, state.world_group, &world);
  state.calls.group_free(&group);
  return world;
}

}  // namespace

std::uint64_t peers_translate(Peers* peers, void* comm, int peer) {
  const int world = comm == state.calls.comm_world ? peer : ask_for_world_rank(comm, peer);
  const std::uint64_t place =
      std::uint64_t{static_cast<std::uint32_t>(world)} << 32 | cell_of_world(world);
  peers->place(static_cast<std::uint32_t>(peer)).store(place, std::memory_order_relaxed);
  return place;
}

}  // namespace ondeloc
