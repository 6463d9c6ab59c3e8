// SPDX-License-Identifier: Apache-2.0
// Collectives that MPICH composes of parts on each node and a part among the first ranks of all
// nodes. In a communicator whose nodes it does not know they are flat.
#pragma once

#include "pmix_hooks/mpich_model/collective.h"

namespace ondeloc::mpich_model {

class OnNodes {
 public:
  OnNodes(const Communicator& communicator, const Collective& call, const Sink& sink);
  void send() const;

 private:
  bool composed() const { return nodes_.count > 0; }
  bool single_node() const { return mine_.size == all_.size; }
  bool is_first() const { return mine_.rank == 0; }
  bool on_my_node(int rank) const { return nodes_.node[rank] == nodes_.node[all_.rank]; }

  void send_barrier() const;
  void send_broadcast() const;
  void broadcast_by_first_ranks(Form form) const;
  void broadcast_by_parts() const;
  void send_reduce() const;
  void reduce_towards_root() const;
  void reduce_to_first() const;
  void send_allreduce() const;
  void send_scan() const;

  const Collective& call_;
  const Nodes& nodes_;
  Group all_;
  Group mine_;   // the ranks on this rank's node
  Group first_;  // the first ranks of all nodes; rank -1 for others
};

}  // namespace ondeloc::mpich_model
