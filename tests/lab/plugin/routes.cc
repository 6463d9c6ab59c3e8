// SPDX-License-Identifier: MIT
#include "tests/lab/plugin/routes.h"

#include <stdexcept>
#include <tuple>

namespace numalab {

Routes::Routes(const Machine& machine) : nodes_(machine.nodes), ways_(index(machine.nodes, 0)) {
  for (int node = 0; node < nodes_; ++node) ways_[index(node, node)].known = true;
  while (improve(machine)) {
  }
  for (const Way& way : ways_) {
    if (!way.known) throw std::runtime_error(machine.name + ": links: a node cannot be reached");
  }
}

// Appends each link to each known way; true when that found a better one.
bool Routes::improve(const Machine& machine) {
  bool better = false;
  for (std::size_t i = 0; i < machine.links.size() * 2; ++i) {
    const Link& link = machine.links[i / 2];
    const int from = i % 2 ? link.b : link.a;
    const int to = i % 2 ? link.a : link.b;
    for (int start = 0; start < nodes_; ++start) {
      const Way& before = ways_[index(start, from)];
      if (!before.known) continue;
      Way way = before;
      way.latency_ps += static_cast<std::uint64_t>(link.latency_ns * 1000);
      way.links.push_back(static_cast<int>(i));
      Way& known = ways_[index(start, to)];
      const auto cost = [](const Way& w) { return std::tuple(w.latency_ps, w.links.size()); };
      if (known.known && cost(known) <= cost(way)) continue;
      known = way;
      better = true;
    }
  }
  return better;
}

}  // namespace numalab
