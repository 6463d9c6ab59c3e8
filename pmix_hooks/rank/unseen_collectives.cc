// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/unseen_collectives.h"

#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/notes.h"

namespace ondeloc {
namespace {

struct State {
  MpiCalls calls;
  std::uint32_t cells;
  PeerCells off_node;
};
constinit State state{};

bool has_to_send(void* comm, int root) {
  int inter = 1, size = 0, rank = -1;
  return state.calls.comm_test_inter(comm, &inter) == open_mpi::kSuccess && inter == 0 &&
         state.calls.comm_size(comm, &size) == open_mpi::kSuccess && size > 1 &&
         state.calls.comm_rank(comm, &rank) == open_mpi::kSuccess && (root < 0 || root == rank);
}

}  // namespace

void unseen_collectives_start(const MpiCalls& calls, std::uint32_t local_ranks,
                              const PeerCells& off_node) {
  state.calls = calls;
  state.cells = local_ranks + 1;
  state.off_node = off_node;
}

std::uint64_t messages_so_far() {
  if (!counting.active.load(std::memory_order_relaxed)) return 0;
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < state.cells; ++i) sum += read_cell(counting.row[i]).messages;
  state.off_node.each(
      [&](std::uint32_t, std::uint32_t at) { sum += read_cell(state.off_node.sent[at]).messages; });
  return sum;
}

void collective_was_watched(void* comm, int root, std::uint64_t messages) {
  if (messages != 0 || !counting.active.load(std::memory_order_relaxed)) return;
  if (has_to_send(comm, root)) add_note(ONDELOC_NOTE_UNSEEN_COLLECTIVES);
}

}  // namespace ondeloc
