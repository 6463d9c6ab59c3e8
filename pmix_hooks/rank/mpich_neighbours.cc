// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/mpich_neighbours.h"

#include <sys/mman.h>

#include <cstddef>

#include "mapcore/segment/layout.h"

#include "pmix_hooks/rank/mpich_handles.h"
#include "pmix_hooks/rank/notes.h"
#include "pmix_hooks/rank/symbols.h"

namespace ondeloc {
namespace {

// Room for the numbers of one call. Null: no memory, and a note says so.
class Numbers {
 public:
  explicit Numbers(std::size_t count) : bytes_(count * sizeof(int)) {
    if (count <= kOnStack) return;
    memory_ = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED) add_note(ONDELOC_NOTE_NO_MEMORY);
  }
  Numbers(const Numbers&) = delete;
  Numbers& operator=(const Numbers&) = delete;
  ~Numbers() {
    if (memory_ != nullptr && memory_ != MAP_FAILED) munmap(memory_, bytes_);
  }
  int* get() {
    if (memory_ == nullptr) return few_;
    return memory_ == MAP_FAILED ? nullptr : static_cast<int*>(memory_);
  }

 private:
  static constexpr std::size_t kOnStack = 1024;
  std::size_t bytes_;
  void* memory_ = nullptr;  // null: `few_` is enough
  int few_[kOnStack];
};

struct Calls {
  int (*topo_test)(void* comm, int* kind);
  int (*cartdim_get)(void* comm, int* dimensions);
  int (*cart_shift)(void* comm, int dimension, int distance, int* source, int* destination);
  int (*graph_count)(void* comm, int rank, int* count);
  int (*graph_neighbours)(void* comm, int rank, int most, int* neighbours);
  int (*dist_count)(void* comm, int* in, int* out, int* weighted);
  int (*dist_neighbours)(void* comm, int in, int* sources, int* weights, int out, int* destinations,
                         int* out_weights);
};
constinit Calls calls{};

template <class Function>
void find(Function& function, const char* name) {
  function = reinterpret_cast<Function>(mpi_symbol(name));
}

using Visit = void (*)(void* context, int index, int neighbour);

void each_cartesian(void* comm, Visit visit, void* context) {
  int dimensions = 0;
  if (calls.cartdim_get(comm, &dimensions) != 0) return;
  for (int d = 0; d < dimensions; ++d) {
    int below = -1, above = -1;
    if (calls.cart_shift(comm, d, 1, &below, &above) != 0) return;
    visit(context, 2 * d, below);
    visit(context, 2 * d + 1, above);
  }
}

void each_of(const int* list, int count, Visit visit, void* context) {
  for (int i = 0; i < count; ++i) visit(context, i, list[i]);
}

void each_in_graph(void* comm, int rank, Visit visit, void* context) {
  int count = 0;
  if (calls.graph_count(comm, rank, &count) != 0) return;
  Numbers list(static_cast<std::size_t>(count));
  if (list.get() != nullptr && calls.graph_neighbours(comm, rank, count, list.get()) == 0)
    each_of(list.get(), count, visit, context);
}

void each_in_distributed_graph(void* comm, Visit visit, void* context) {
  int in = 0, out = 0, weighted = 0;
  if (calls.dist_count(comm, &in, &out, &weighted) != 0) return;
  // Each neighbour has a rank and a weight.
  Numbers numbers(2 * (static_cast<std::size_t>(in) + static_cast<std::size_t>(out)));
  int* list = numbers.get();
  if (list != nullptr && calls.dist_neighbours(comm, in, list + out, list + out + in, out, list,
                                               list + out + 2 * in) == 0)
    each_of(list, out, visit, context);
}

}  // namespace

void neighbours_start() {
  find(calls.topo_test, "PMPI_Topo_test");
  find(calls.cartdim_get, "PMPI_Cartdim_get");
  find(calls.cart_shift, "PMPI_Cart_shift");
  find(calls.graph_count, "PMPI_Graph_neighbors_count");
  find(calls.graph_neighbours, "PMPI_Graph_neighbors");
  find(calls.dist_count, "PMPI_Dist_graph_neighbors_count");
  find(calls.dist_neighbours, "PMPI_Dist_graph_neighbors");
}

void each_neighbour(void* comm, int rank, Visit visit, void* context) {
  int kind = 0;
  if (calls.topo_test == nullptr || calls.topo_test(comm, &kind) != 0) return;
  if (kind == mpich_handles.cartesian && calls.cartdim_get != nullptr &&
      calls.cart_shift != nullptr)
    each_cartesian(comm, visit, context);
  if (kind == mpich_handles.graph && calls.graph_count != nullptr &&
      calls.graph_neighbours != nullptr)
    each_in_graph(comm, rank, visit, context);
  if (kind == mpich_handles.distributed_graph && calls.dist_count != nullptr &&
      calls.dist_neighbours != nullptr)
    each_in_distributed_graph(comm, visit, context);
}

}  // namespace ondeloc
