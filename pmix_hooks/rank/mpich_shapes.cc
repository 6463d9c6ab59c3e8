// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/mpich_shapes.h"

#include <sys/mman.h>

#include <bit>
#include <initializer_list>

#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/mpich_handles.h"
#include "pmix_hooks/rank/mpich_nodes.h"
#include "pmix_hooks/rank/pointer_map.h"

namespace ondeloc {
namespace {

struct State {
  MpiCalls calls;
  void (*no_memory)();
  PointerMap by_comm;
};
constinit State state{};

struct Sizes {
  int local = 0, remote = 0, rank = 0;
};

bool ask_sizes(void* comm, Sizes& sizes) {
  int inter = 0;
  if (state.calls.comm_test_inter(comm, &inter) != 0 ||
      state.calls.comm_size(comm, &sizes.local) != 0 ||
      state.calls.comm_rank(comm, &sizes.rank) != 0 || sizes.local < 1)
    return false;
  return inter == 0 || (state.calls.comm_remote_size(comm, &sizes.remote) == 0 && sizes.remote > 0);
}

// Cuts one piece of memory into arrays.
class Cutter {
 public:
  explicit Cutter(char* at) : at_(at) {}
  template <class T>
  T* take(int count) {
    T* array = reinterpret_cast<T*>(at_);
    at_ += (static_cast<std::size_t>(count) * sizeof(T) + 7) / 8 * 8;
    return array;
  }

 private:
  char* at_;
};

// The state of a node while the ranks of a communicator are read: its number in the communicator
// plus one, and how many of its ranks were seen.
struct Seen {
  int number, ranks;
};

std::size_t bytes_for(const Sizes& sizes) {
  const auto n = static_cast<std::size_t>(sizes.local), r = static_cast<std::size_t>(sizes.remote);
  return sizeof(Shape) + (n + r) * sizeof(std::uint64_t) + 2 * (n > r ? n : r) * sizeof(int) +
         4 * n * sizeof(int) + static_cast<std::size_t>(mpich_node_limit()) * sizeof(Seen) + 64;
}

// Into `places`, by the world ranks that are put into `world`. The cell of a rank is found at the
// first message to it (mpich_modelled.cc): cells off the node are few.
bool find_places(void* comm, bool remote, int size, int* ranks, int* world, std::uint64_t* places) {
  for (int i = 0; i < size; ++i) ranks[i] = i;
  if (!world_ranks_of(comm, remote, size, ranks, world)) return false;
  for (int i = 0; i < size; ++i)
    places[i] = std::uint64_t{static_cast<std::uint32_t>(world[i])} << 32;
  return true;
}

struct NodeArrays {
  int *node, *on_node, *first, *mine;
};

void find_nodes(const int* world, const Sizes& sizes, const NodeArrays& to, Seen* seen,
                mpich_model::Nodes& nodes) {
  nodes = {0, true, to.node, to.on_node, to.first, to.mine, 0};
  for (int i = 0; i < sizes.local; ++i) {
    Seen& node = seen[mpich_node_of_world(world[i])];
    if (node.number == 0) {
      to.first[nodes.count] = i;
      node.number = ++nodes.count;
    }
    to.node[i] = node.number - 1;
    to.on_node[i] = node.ranks++;
    if (i > 0 && to.node[i] != to.node[i - 1] && to.on_node[i] != 0) nodes.consecutive = false;
  }
  for (int i = 0; i < sizes.local; ++i)
    if (to.node[i] == to.node[sizes.rank]) to.mine[nodes.mine_count++] = i;
  if (nodes.count == sizes.local) nodes.count = 0;
}

bool fill(Shape& shape, void* comm, const Sizes& sizes) {
  Cutter cut(reinterpret_cast<char*>(&shape + 1));
  auto* places = cut.take<std::uint64_t>(sizes.local);
  auto* remote_places = cut.take<std::uint64_t>(sizes.remote);
  const int most = sizes.local > sizes.remote ? sizes.local : sizes.remote;
  int* ranks = cut.take<int>(most);
  int* world = cut.take<int>(most);
  NodeArrays arrays{};
  for (int** array : {&arrays.node, &arrays.on_node, &arrays.first, &arrays.mine})
    *array = cut.take<int>(sizes.local);
  shape.places = places;
  shape.remote_places = remote_places;
  shape.communicator = {sizes.local, sizes.rank, sizes.remote, {}};
  if (sizes.remote > 0 && !find_places(comm, true, sizes.remote, ranks, world, remote_places))
    return false;
  if (!find_places(comm, false, sizes.local, ranks, world, places)) return false;
  find_nodes(world, sizes, arrays, cut.take<Seen>(mpich_node_limit()), shape.communicator.nodes);
  return true;
}

void drop(Shape* shape) { munmap(shape, shape->bytes); }

Shape* make_shape(void* comm) {
  Sizes sizes;
  if (!ask_sizes(comm, sizes)) return nullptr;
  const std::size_t bytes = bytes_for(sizes);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    state.no_memory();
    return nullptr;
  }
  auto* shape = static_cast<Shape*>(memory);
  shape->bytes = bytes;
  if (fill(*shape, comm, sizes)) return shape;
  drop(shape);
  return nullptr;
}

}  // namespace

void shapes_start(const MpiCalls& calls, void (*no_memory)()) {
  state.calls = calls;
  state.no_memory = no_memory;
}

const Shape* shape_of(void* comm) {
  MapEntry* entry = state.by_comm.find_or_insert(comm);
  if (entry == nullptr) return nullptr;
  std::uint64_t there = entry->first.load(std::memory_order_acquire);
  if (there != 0) return std::bit_cast<const Shape*>(there);
  Shape* shape = make_shape(comm);
  if (shape == nullptr) return nullptr;
  if (entry->first.compare_exchange_strong(there, std::bit_cast<std::uint64_t>(shape)))
    return shape;
  drop(shape);
  return std::bit_cast<const Shape*>(there);
}

void mpich_forget_comm(const void* address) {
  if (address == nullptr) return;
  void* comm = mpich_handle_at(address);
  forget_comm(comm);
  MapEntry* entry = state.by_comm.find(comm);
  if (entry == nullptr) return;
  auto* shape = std::bit_cast<Shape*>(entry->first.exchange(0, std::memory_order_acq_rel));
  if (shape != nullptr) drop(shape);
}

}  // namespace ondeloc
