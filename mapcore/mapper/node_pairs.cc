// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/node_pairs.h"

#include <algorithm>
#include <iterator>

namespace ondeloc {
namespace {

std::vector<int> only_in(std::span<const int> these, std::span<const int> those) {
  std::vector<int> only;
  std::set_difference(these.begin(), these.end(), those.begin(), those.end(),
                      std::back_inserter(only));
  return only;
}

}  // namespace

std::vector<int> nodes_under(const Machine& machine, const CpuSet& pus) {
  std::vector<int> nodes;
  for (const NumaNode& node : machine.nodes) {
    if (node.os >= 0 && !(node.pus & pus).empty()) nodes.push_back(node.os);
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

std::vector<NodePair> node_pairs(std::span<const int> before, std::span<const int> after) {
  if (after.empty()) return {};
  const std::vector<int> left = only_in(before, after), come = only_in(after, before);
  const std::span<const int> targets = come.empty() ? after : std::span<const int>(come);
  std::vector<NodePair> pairs;
  for (std::size_t k = 0; k < left.size(); ++k)
    pairs.push_back({left[k], targets[k % targets.size()]});
  return pairs;
}

}  // namespace ondeloc
