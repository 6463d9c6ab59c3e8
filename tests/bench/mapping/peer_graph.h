// SPDX-License-Identifier: Apache-2.0
// Shared by the partitioners that are libraries: their graph, the mapping from their partition, and
// the time of their threads.
#pragma once

#include <algorithm>
#include <vector>

#include "tests/bench/mapping/inputs.h"

namespace ondeloc::bench {

// A graph in compressed rows, each edge in the rows of both ends.
template <class Num>
struct Csr {
  std::vector<Num> begin{0}, peer, weight;
};

// The libraries use 32-bit integers, so bytes are scaled until all weights together stay below
// 2^30.
template <class Num>
Csr<Num> to_csr(const Traffic& traffic) {
  const double scale = traffic.total() > 5e8 ? 5e8 / traffic.total() : 1;
  Csr<Num> csr;
  for (int i = 0; i < traffic.ranks(); ++i) {
    for (const Traffic::Edge& edge : traffic.edges(i)) {
      csr.peer.push_back(edge.peer);
      csr.weight.push_back(std::max<Num>(1, static_cast<Num>(edge.bytes * scale)));
    }
    csr.begin.push_back(static_cast<Num>(csr.peer.size()));
  }
  return csr;
}

// `leaf`: the last-level cache of each rank. Ranks of overfull caches move where it costs least.
Mapping to_mapping(const Problem& problem, const Traffic& traffic, std::vector<int> leaf);

// CPU time of all threads of this process.
double cpu_seconds();

}  // namespace ondeloc::bench
