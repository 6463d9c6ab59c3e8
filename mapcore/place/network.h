// SPDX-License-Identifier: Apache-2.0
// The compute nodes of a step as one machine, so that the algorithms and the cost model of one node
// (cost.h) also place ranks over nodes. A compute node is a NUMA node of that machine. Its network
// adapter is the port of the node's only cache. The fabric between adapters has full bisection
// bandwidth: only adapters can be full.
//
//   congestion = max_k (B_k / Y + M_k L / r)     B_k, M_k: bytes and messages through adapter k,
//                                                sent and received
//   locality   = B / (Y n) + M L / (r n)         B, M: bytes and messages between nodes
//
// with Y = bandwidth, L = latency, n nodes and r ranks on a node on average. The congestion is the
// time in which the fullest adapter moves its bytes, and the mean time that the ranks of its node
// wait for their messages. The locality is the mean of both over the nodes. It prefers few bytes in
// all if several distributions have the same fullest adapter.
//
// Memory inside the nodes costs nothing here, because the second stage maps the ranks of each node.
// The order of the two stages is that of E. Jeannot and G. Mercier, "Near-optimal placement of MPI
// processes on hierarchical NUMA architectures", Euro-Par 2010: the most expensive level first.
// Thread safety: values and pure functions.
#pragma once

#include <string>
#include <vector>

#include "mapcore/map/cost_model.h"
#include "mapcore/map/mapping.h"
#include "mapcore/topology/machine.h"

namespace ondeloc {

struct Adapter {
  double bandwidth = 12.5e9;  // bytes per second of one node: 100 Gbit/s
  double latency = 1.5e-6;    // seconds that a message between nodes takes more than one inside
};

struct Network {
  Machine machine;  // one PU for each node
  SlotSet slots;    // of node 0, then of node 1, and so on
  CostModel model;
};

// `capacity`: the number of ranks of each node, 0 or more. `left_out`: nodes without ranks that are
// not in `capacity`. They count in n and r, so that the cost is the same as with them, and take no
// time.
Network make_network(const std::vector<int>& capacity, const Adapter& adapter, int left_out = 0);

// Deals `ranks` evenly to nodes that have room for `room` ranks each, as Slurm's cyclic
// distribution does. Empty if there is not enough room.
std::vector<int> even_counts(const std::vector<int>& room, int ranks);

}  // namespace ondeloc
