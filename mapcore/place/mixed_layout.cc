// SPDX-License-Identifier: Apache-2.0
#include "mapcore/place/mixed_layout.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace ondeloc {
namespace {

constexpr std::uint64_t kFifth = 5;

// A node of each distribution, and the number of ranks that both have.
struct Match {
  int ranks = 0;
  std::size_t first = 0, second = 0;
};

// The matches of all pairs of nodes, most ranks first.
std::vector<Match> matches_of(const NodeOfRank& first, const NodeOfRank& second,
                              std::size_t nodes) {
  std::vector<Match> matches(nodes * nodes);
  for (std::size_t at = 0; at < matches.size(); ++at) matches[at] = {0, at / nodes, at % nodes};
  for (std::size_t i = 0; i < first.size(); ++i)
    ++matches[static_cast<std::size_t>(first[i]) * nodes + static_cast<std::size_t>(second[i])]
          .ranks;
  std::stable_sort(matches.begin(), matches.end(),
                   [](const Match& a, const Match& b) { return a.ranks > b.ranks; });
  return matches;
}

// The node of the first distribution that stands for each node of the second: greedily the one with
// most ranks in common.
std::vector<int> names_of(const NodeOfRank& first, const NodeOfRank& second, std::size_t nodes) {
  std::vector<int> name(nodes, -1);
  std::vector<bool> is_used(nodes);
  for (const Match& match : matches_of(first, second, nodes)) {
    if (is_used[match.first] || name[match.second] >= 0) continue;
    name[match.second] = static_cast<int>(match.first);
    is_used[match.first] = true;
  }
  return name;
}

std::vector<std::size_t> differing_ranks(const NodeOfRank& first, const NodeOfRank& second,
                                         std::size_t nodes) {
  const std::vector<int> name = names_of(first, second, nodes);
  std::vector<std::size_t> ranks;
  for (std::size_t i = 0; i < first.size(); ++i)
    if (name[second[i]] != first[i]) ranks.push_back(i);
  return ranks;
}

std::vector<std::size_t> fifth_of_ranks(std::size_t ranks, std::mt19937_64& random) {
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < ranks; ++i)
    if (random() % kFifth == 0) some.push_back(i);
  return some;
}

}  // namespace

NodeOfRank mixed_layout(const NodeOfRank& first, const NodeOfRank& second, std::size_t nodes,
                        std::mt19937_64& random) {
  std::vector<std::size_t> loose = differing_ranks(first, second, nodes);
  if (loose.size() < 2 || loose.size() > first.size() / 2)
    loose = fifth_of_ranks(first.size(), random);
  NodeOfRank mixed = first;
  // By hand, because std::shuffle differs between standard libraries.
  for (std::size_t i = loose.size(); i > 1; --i)
    std::swap(mixed[loose[i - 1]], mixed[loose[random() % i]]);
  return mixed;
}

namespace {

// A rank and, one by one, the rank of its node that exchanges most bytes with the group so far.
std::vector<int> group_of(int first, std::size_t size, const NodeOfRank& layout,
                          const Traffic& traffic) {
  std::vector<double> bytes(layout.size());  // with the group; below 0: in the group
  std::vector<int> group;
  for (int next = first; group.size() < size;) {
    group.push_back(next);
    for (const Traffic::Edge& edge : traffic.edges(next))
      if (bytes[edge.peer] >= 0) bytes[edge.peer] += edge.bytes;
    bytes[next] = -1;
    next = -1;
    for (std::size_t i = 0; i < layout.size(); ++i)
      if (layout[i] == layout[first] && bytes[i] >= 0 && (next < 0 || bytes[i] > bytes[next]))
        next = static_cast<int>(i);
    if (next < 0) break;
  }
  return group;
}

}  // namespace

NodeOfRank exchanged_layout(const NodeOfRank& layout, const Traffic& traffic,
                            std::mt19937_64& random) {
  const auto first = static_cast<int>(random() % layout.size());
  const auto second = static_cast<int>(random() % layout.size());
  const auto half = [&](int rank) {
    return static_cast<std::uint64_t>(std::count(layout.begin(), layout.end(), layout[rank])) / 2;
  };
  const std::uint64_t most = std::min(half(first), half(second));
  if (layout[first] == layout[second] || most == 0) return layout;
  const std::size_t size = 1 + random() % most;
  NodeOfRank exchanged = layout;
  for (const int rank : group_of(first, size, layout, traffic)) exchanged[rank] = layout[second];
  for (const int rank : group_of(second, size, layout, traffic)) exchanged[rank] = layout[first];
  return exchanged;
}

}  // namespace ondeloc
