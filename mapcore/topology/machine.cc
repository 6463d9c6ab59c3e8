// SPDX-License-Identifier: Apache-2.0
#include "mapcore/topology/machine.h"

#include <algorithm>
#include <map>
#include <utility>

namespace ondeloc {
namespace {

struct DomainNames {
  const char* name;
  const char* key;
};
constexpr std::array<DomainNames, kDomainCount> kDomains{{{"core", "core"},
                                                          {"L2", "l2"},
                                                          {"LLC", "llc"},
                                                          {"NUMA node", "node"},
                                                          {"package", "package"},
                                                          {"machine", "machine"}}};

}  // namespace

const char* domain_name(Domain domain) { return kDomains[static_cast<std::size_t>(domain)].name; }
const char* domain_key(Domain domain) { return kDomains[static_cast<std::size_t>(domain)].key; }

std::optional<Domain> domain_of(std::string_view key) {
  for (int d = 0; d < kDomainCount; ++d)
    if (kDomains[static_cast<std::size_t>(d)].key == key) return static_cast<Domain>(d);
  return std::nullopt;
}

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

Seat Machine::seat_of(const Pu& pu) const {
  const int package =
      pu.at(Level::kPackage) >= 0 ? pu.at(Level::kPackage) : nodes[pu.node.value].package;
  return {pu.at(Level::kCore), pu.at(Level::kL2), pu.llc, pu.node, package};
}

namespace {

std::vector<double> restrict_square(const std::vector<double>& square, std::size_t n,
                                    const std::vector<int>& kept) {
  std::vector<double> out;
  if (square.empty()) return out;
  for (const int k : kept) {
    for (const int l : kept) out.push_back(square[static_cast<std::size_t>(k) * n + l]);
  }
  return out;
}

// The objects that keep a PU, with those PUs only; renumbered[old] = new or -1.
template <typename Object>
std::vector<Object> restrict_objects(const std::vector<Object>& objects, const CpuSet& keep,
                                     std::vector<int>& renumbered) {
  std::vector<Object> kept;
  for (const Object& object : objects) {
    const bool stays = object.pus.intersects(keep);
    renumbered.push_back(stays ? static_cast<int>(kept.size()) : -1);
    if (!stays) continue;
    kept.push_back(object);
    kept.back().pus &= keep;
  }
  return kept;
}

}  // namespace

std::vector<CpuSet> core_sets(const Machine& machine) {
  std::map<int, CpuSet> cores;
  for (const Pu& pu : machine.pus) {
    const int core = pu.at(Level::kCore);
    cores[core < 0 ? -1 - pu.os.value : core].set(pu.os);
  }
  std::vector<CpuSet> sets;
  for (auto& [number, pus] : cores) sets.push_back(std::move(pus));
  return sets;
}

Machine restrict_machine(const Machine& machine, const CpuSet& keep) {
  Machine out;
  out.part_of = machine.part_of ? machine.part_of : std::make_shared<const Machine>(machine);
  out.source = machine.source;
  out.model = machine.model;
  out.other_memories = machine.other_memories;
  out.devices = machine.devices;
  out.offline = machine.offline;
  out.allowed = machine.allowed & keep;
  std::vector<int> node_now, llc_now, unused;
  out.nodes = restrict_objects(machine.nodes, keep, node_now);
  out.llcs = restrict_objects(machine.llcs, keep, llc_now);
  out.caches = restrict_objects(machine.caches, keep, unused);
  out.core_kinds = restrict_objects(machine.core_kinds, keep, unused);
  for (Llc& llc : out.llcs) llc.node = NodeIndex(node_now[llc.node.value]);
  for (Pu pu : machine.pus) {
    if (!keep.test(pu.os)) continue;
    pu.node = NodeIndex(node_now[pu.node.value]);
    pu.llc = LlcIndex(llc_now[pu.llc.value]);
    out.pus.push_back(pu);
  }
  std::vector<int> kept;
  for (std::size_t k = 0; k < node_now.size(); ++k)
    if (node_now[k] >= 0) kept.push_back(static_cast<int>(k));
  out.distances = restrict_square(machine.distances, machine.nodes.size(), kept);
  out.link_bandwidth = restrict_square(machine.link_bandwidth, machine.nodes.size(), kept);
  return out;
}

}  // namespace ondeloc
