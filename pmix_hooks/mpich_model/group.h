// SPDX-License-Identifier: Apache-2.0
// A model of the messages that MPICH makes of a collective: for one rank, the messages that it
// sends. It follows MPICH's algorithms and the tables by which it chooses them (maint/tuning/coll
// of v4.0.2 to v5.0.1, which differ in eight lines), so it calls nothing of MPI and can be tested
// alone.
//
// A group is a communicator, or its part on a node, or the first ranks of all nodes. Ranks in this
// folder are ranks of a group.
// Thread safety: no state. Errors: none.
#pragma once

#include <cstdint>

namespace ondeloc::mpich_model {

// Takes the messages. `peer` is a rank of the communicator, or of the remote group of an
// inter-communicator.
struct Sink {
  void (*take)(void* self, bool remote, int peer, std::uint64_t bytes);
  void* self;
};

struct Group {
  const Sink* sink;
  const int* members;  // their ranks in the communicator; null: the communicator itself
  int size;
  int rank;

  void send(int peer, std::uint64_t bytes) const {
    sink->take(sink->self, false, members == nullptr ? peer : members[peer], bytes);
  }
  // The rank that is `distance` above `root` in a ring that begins there.
  int around(int root, int distance) const { return (root + distance) % size; }
  int relative(int root) const { return (rank - root + size) % size; }
};

// The ranks of a communicator that share a node, as MPICH sees it.
struct Nodes {
  int count;                // 0: MPICH knows no nodes here, since each rank is alone on its node
  bool consecutive;         // the ranks of each node follow each other
  const int* node;          // of each rank; nodes are numbered by their first rank
  const int* rank_on_node;  // of each rank, among the ranks of its node
  const int* first;         // the first rank of each node
  const int* mine;          // the ranks of this rank's node
  int mine_count;
};

// In an inter-communicator `nodes` are those of the ranks on this side.
struct Communicator {
  int size;
  int rank;
  int remote_size;  // 0: no inter-communicator
  Nodes nodes;
};

inline int power_of_two_below(int n) {
  int power = 1;
  while (power * 2 <= n) power *= 2;
  return power;
}
inline bool is_power_of_two(int n) { return (n & (n - 1)) == 0; }

}  // namespace ondeloc::mpich_model
