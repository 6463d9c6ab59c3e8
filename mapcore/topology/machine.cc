// SPDX-License-Identifier: Apache-2.0
#include "mapcore/topology/machine.h"

#include <algorithm>

namespace ondeloc {

const Pu* Machine::find(PuOs os) const {
  const auto hit = std::find_if(pus.begin(), pus.end(), [&](const Pu& pu) { return pu.os == os; });
  return hit == pus.end() ? nullptr : &*hit;
}

const Pu* Machine::find(PuLogical index) const {
  const auto hit =
      std::find_if(pus.begin(), pus.end(), [&](const Pu& pu) { return pu.logical == index; });
  return hit == pus.end() ? nullptr : &*hit;
}

CpuSet Machine::all_pus() const {
  CpuSet all;
  for (const Pu& pu : pus) all.set(pu.os);
  return all;
}

NodeIndex Machine::node_of(PuOs os) const {
  const Pu* pu = find(os);
  return pu == nullptr ? NodeIndex(-1) : pu->node;
}

namespace {

std::vector<double> restrict_square(const std::vector<double>& square, std::size_t n,
                                    const std::vector<int>& kept) {
  std::vector<double> out;
  if (square.empty()) return out;
  for (const int k : kept) {
    for (const int l : kept)
      out.push_back(square[static_cast<std::size_t>(k) * n + static_cast<std::size_t>(l)]);
  }
  return out;
}

}  // namespace

Machine restrict_machine(const Machine& machine, const CpuSet& keep) {
  Machine out;
  out.source = machine.source;
  out.allowed = machine.allowed & keep;
  std::vector<int> kept;
  std::vector<int> renumbered(machine.nodes.size(), -1);
  for (std::size_t k = 0; k < machine.nodes.size(); ++k) {
    if (!machine.nodes[k].pus.intersects(keep)) continue;
    renumbered[k] = static_cast<int>(kept.size());
    kept.push_back(static_cast<int>(k));
    NumaNode node = machine.nodes[k];
    node.pus &= keep;
    out.nodes.push_back(std::move(node));
  }
  for (Pu pu : machine.pus) {
    if (!keep.test(pu.os)) continue;
    pu.node = NodeIndex(renumbered[static_cast<std::size_t>(pu.node.value)]);
    out.pus.push_back(pu);
  }
  out.distances = restrict_square(machine.distances, machine.nodes.size(), kept);
  out.link_bandwidth = restrict_square(machine.link_bandwidth, machine.nodes.size(), kept);
  return out;
}

}  // namespace ondeloc
