// SPDX-License-Identifier: MIT
// Finds the links that a line takes from node to node: the route of least latency, and among equal
// routes the one with the fewest links.
#pragma once
#include <vector>

#include "tests/lab/plugin/machine.h"

namespace numalab {

class Routes {
 public:
  // Throws std::runtime_error when a node cannot be reached.
  explicit Routes(const Machine& machine);
  // Numbers of directed links: 2*i from a to b, 2*i+1 from b to a, for link i of the description.
  const std::vector<int>& links(int from, int to) const { return at(from, to).links; }
  // The latency of a request and its answer together, in picoseconds.
  std::uint64_t latency_ps(int from, int to) const { return at(from, to).latency_ps; }

 private:
  struct Way {
    std::uint64_t latency_ps = 0;
    std::vector<int> links;
    bool known = false;
  };
  const Way& at(int from, int to) const { return ways_[index(from, to)]; }
  std::size_t index(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(nodes_) +
           static_cast<std::size_t>(to);
  }
  bool improve(const Machine& machine);

  int nodes_;
  std::vector<Way> ways_;
};

}  // namespace numalab
