// SPDX-License-Identifier: Apache-2.0
#include "mapcore/place/layouts.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>

#include "mapcore/map/algorithm.h"
#include "mapcore/map/cost.h"

namespace ondeloc {
namespace {

// Slot k of the network belongs to the node in whose range k is; each rank takes the next free slot
// of its node.
Mapping mapping_of(const Network& network, const NodeOfRank& layout) {
  std::vector<int> next(network.machine.nodes.size(), -1);
  for (std::size_t s = network.slots.size(); s-- > 0;)
    next[network.slots[s].node.value] = static_cast<int>(s);
  Mapping mapping;
  for (const int node : layout) mapping.emplace_back(next[node]++);
  return mapping;
}

NodeOfRank layout_of(const Network& network, const Mapping& mapping) {
  NodeOfRank layout;
  for (const SlotIndex slot : mapping) layout.push_back(network.slots[slot].node.value);
  return layout;
}

// Up to this product of ranks and nodes the search also sees the adapters (about a second). Beyond
// it, the search minimises the bytes and messages between nodes, and the adapters only choose among
// its results.
constexpr std::int64_t kSmall = 16384;

// The search goes on from srun's cheaper distribution, from nothing, and for few ranks from random
// distributions, because one search can end beside the cheapest distribution.
std::vector<Mapping> starts_of(const MapRequest& request, Mapping first) {
  constexpr int kFewRanks = 128, kRandomStarts = 8;
  std::vector<Mapping> starts = {std::move(first), {}};
  for (int seed = 0; seed < kRandomStarts && request.traffic.ranks() <= kFewRanks; ++seed) {
    auto mapping = compute_mapping("random:" + std::to_string(seed), request);
    if (mapping) starts.push_back(*std::move(mapping));
  }
  return starts;
}

}  // namespace

NodeOfRank block_layout(const std::vector<int>& counts) {
  NodeOfRank layout;
  for (std::size_t k = 0; k < counts.size(); ++k)
    layout.insert(layout.end(), static_cast<std::size_t>(counts[k]), static_cast<int>(k));
  return layout;
}

NodeOfRank plane_layout(const std::vector<int>& counts, int size) {
  NodeOfRank layout;
  std::vector<int> left = counts;
  const int ranks = std::accumulate(counts.begin(), counts.end(), 0);
  while (static_cast<int>(layout.size()) < ranks) {
    for (std::size_t k = 0; k < left.size(); ++k) {
      const int taken = std::min(size, left[k]);
      layout.insert(layout.end(), static_cast<std::size_t>(taken), static_cast<int>(k));
      left[k] -= taken;
    }
  }
  return layout;
}

NodeOfRank cyclic_layout(const std::vector<int>& counts) { return plane_layout(counts, 1); }

namespace {

// A distribution that was found, and its predicted seconds.
struct Found {
  NodeOfRank layout;
  double seconds = 0;
};

class Search {
 public:
  Search(const Network& network, const Traffic& traffic)
      : network_(network), traffic_(traffic), fabric_(network.model) {
    fabric_.port.clear();
    models_.push_back(&fabric_);
    const std::int64_t size = static_cast<std::int64_t>(traffic.ranks()) * network.model.nodes;
    if (size <= kSmall) models_.push_back(&network.model);
  }

  MapRequest request(const CostModel& model, const Mapping& start) const {
    return {network_.machine, network_.slots, traffic_, model, start};
  }
  const CostModel& fabric() const { return fabric_; }

  void keep(NodeOfRank layout) {
    const double seconds = cost_of_layout(network_, traffic_, layout).seconds;
    found_.push_back({std::move(layout), seconds});
  }
  Status run(const char* algorithm, const Mapping& start) {
    for (const CostModel* model : models_) {
      auto mapping = compute_mapping(algorithm, request(*model, start));
      if (!mapping) return std::move(mapping).error();
      keep(layout_of(network_, *mapping));
    }
    return {};
  }
  // The cheapest ones, each cost once.
  std::vector<Found> cheapest(std::size_t most) {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const Found& a, const Found& b) { return a.seconds < b.seconds; });
    std::vector<Found> best;
    for (const Found& one : found_)
      if (best.size() < most && (best.empty() || one.seconds > best.back().seconds))
        best.push_back(one);
    return best;
  }

 private:
  const Network& network_;
  const Traffic& traffic_;
  CostModel fabric_;
  std::vector<const CostModel*> models_;
  std::vector<Found> found_;
};

}  // namespace

Result<NodeOfRank> placed_layout(const Network& network, const Traffic& traffic) {
  // A long search takes ten times a short one, so that only the best of these are searched on.
  constexpr std::size_t kSearchedOn = 3;
  std::vector<int> counts(network.machine.nodes.size());
  for (const Slot& slot : network.slots) ++counts[slot.node.value];
  Search search(network, traffic);
  search.keep(block_layout(counts));
  search.keep(cyclic_layout(counts));
  const Mapping none;
  const Mapping first = mapping_of(network, search.cheapest(1).front().layout);
  for (const Mapping& start : starts_of(search.request(search.fabric(), none), first))
    if (Status ran = search.run("coordinated", start); !ran) return std::move(ran).error();
  for (const Found& found : search.cheapest(kSearchedOn))
    if (Status ran = search.run("coordinated:30", mapping_of(network, found.layout)); !ran)
      return std::move(ran).error();
  return search.cheapest(1).front().layout;
}

LayoutCost cost_of_layout(const Network& network, const Traffic& traffic,
                          const NodeOfRank& layout) {
  const Mapping mapping = mapping_of(network, layout);
  const DomainTraffic split = traffic_by_domain(network.slots, traffic, mapping);
  const auto machine = static_cast<std::size_t>(Domain::kMachine);
  LayoutCost cost;
  cost.bytes = split.bytes[machine];
  cost.messages = split.messages[machine];
  cost.share = traffic.total() > 0 ? cost.bytes / traffic.total() : 0;
  cost.seconds = evaluate(network.model, network.slots, traffic, mapping).total;
  std::vector<double> through(network.machine.nodes.size());
  for (int i = 0; i < traffic.ranks(); ++i)
    for (const Traffic::Edge& edge : traffic.edges(i))
      if (layout[edge.peer] != layout[i]) through[layout[i]] += edge.bytes;
  const auto fullest = std::max_element(through.begin(), through.end());
  cost.most = *fullest;
  cost.fullest = static_cast<int>(fullest - through.begin());
  return cost;
}

std::vector<std::vector<int>> ranks_by_node(const NodeOfRank& layout, std::size_t nodes) {
  std::vector<std::vector<int>> ranks(nodes);
  for (std::size_t i = 0; i < layout.size(); ++i) ranks[layout[i]].push_back(static_cast<int>(i));
  return ranks;
}

}  // namespace ondeloc
