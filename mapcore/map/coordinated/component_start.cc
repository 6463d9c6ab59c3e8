// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/component_start.h"

#include <algorithm>

#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

struct Group {
  double bytes = 0;
  std::vector<int> ranks;  // ascending
};

bool is_heavy(const Traffic::Edge& edge, std::span<const Row> rows, int rank) {
  return edge.bytes > tuning::kLightEdge * std::max(rows[rank].most, rows[edge.peer].most);
}

// Returns the components in the order of their first ranks.
std::vector<Group> components_of(const Graph& graph, std::span<const Row> rows) {
  std::vector<Group> groups;
  std::vector<char> is_seen(rows.size());
  for (int first = 0; first < graph.vertices; ++first) {
    if (is_seen[first] != 0) continue;
    is_seen[first] = 1;
    Group group{0, {first}};
    for (std::size_t at = 0; at < group.ranks.size(); ++at) {
      const int rank = group.ranks[at];
      group.bytes += graph.strength[rank];
      for (const Traffic::Edge& edge : graph.row(rank)) {
        if (is_seen[edge.peer] != 0 || !is_heavy(edge, rows, rank)) continue;
        is_seen[edge.peer] = 1;
        group.ranks.push_back(edge.peer);
      }
    }
    std::sort(group.ranks.begin(), group.ranks.end());
    groups.push_back(std::move(group));
  }
  return groups;
}

class Packing {
 public:
  Packing(const Graph& graph, const GroupPlaces& places)
      : graph_(graph),
        places_(places),
        free_slots_(places.capacity.begin(), places.capacity.end()),
        free_of_node_(places.per_node.size()),
        load_(places.per_node.size()),
        part_(static_cast<std::size_t>(graph.vertices), -1) {
    for (std::size_t p = 0; p < free_slots_.size(); ++p)
      free_of_node_[places.node_of[p]] += free_slots_[p];
  }

  int most_in_node() const { return *std::max_element(free_of_node_.begin(), free_of_node_.end()); }

  void add(const Group& group) {
    const auto size = static_cast<int>(group.ranks.size());
    const int place = place_for(size);
    const int node = place >= 0 ? places_.node_of[place] : node_for(size);
    for (const int rank : group.ranks) put(rank, place >= 0 ? place : roomiest(node));
  }
  Part take() { return std::move(part_); }

 private:
  // Returns the place with the fewest free slots of all with room, in the node with the least load.
  int place_for(int size) const {
    int best = -1;
    for (std::size_t p = 0; p < free_slots_.size(); ++p) {
      if (free_slots_[p] < size) continue;
      const int node = places_.node_of[p];
      const bool is_better = best < 0 || load_[node] < load_[places_.node_of[best]] ||
                             (node == places_.node_of[best] && free_slots_[p] < free_slots_[best]);
      if (is_better) best = static_cast<int>(p);
    }
    return best;
  }
  int node_for(int size) const {
    int best = -1;
    for (std::size_t k = 0; k < load_.size(); ++k)
      if (free_of_node_[k] >= size && (best < 0 || load_[k] < load_[best]))
        best = static_cast<int>(k);
    return best;
  }
  // Returns the place with the most free slots in the node, or anywhere if the node is -1.
  int roomiest(int node) const {
    int best = -1;
    for (std::size_t p = 0; p < free_slots_.size(); ++p)
      if ((node < 0 || places_.node_of[p] == node) &&
          (best < 0 || free_slots_[p] > free_slots_[best]))
        best = static_cast<int>(p);
    return best;
  }
  void put(int rank, int place) {
    const int node = places_.node_of[place];
    part_[rank] = place;
    --free_slots_[place];
    --free_of_node_[node];
    load_[node] += graph_.strength[rank] * places_.per_node[node];
  }

  const Graph& graph_;
  const GroupPlaces& places_;
  std::vector<int> free_slots_, free_of_node_;
  std::vector<double> load_;  // of each node
  Part part_;
};

}  // namespace

Part component_start(const Graph& graph, std::span<const Row> rows, const GroupPlaces& places) {
  std::vector<Group> groups = components_of(graph, rows);
  Packing packing(graph, places);
  const auto most = static_cast<std::size_t>(packing.most_in_node());
  const auto is_group = [&](const Group& group) {
    return group.ranks.size() > 1 && group.ranks.size() <= most;
  };
  if (std::none_of(groups.begin(), groups.end(), is_group)) return {};
  std::stable_sort(groups.begin(), groups.end(), [&](const Group& a, const Group& b) {
    if (is_group(a) != is_group(b)) return is_group(a);
    return a.bytes > b.bytes;
  });
  for (const Group& group : groups) {
    if (is_group(group)) {
      packing.add(group);
    } else {
      for (const int rank : group.ranks) packing.add({0, {rank}});
    }
  }
  return packing.take();
}

}  // namespace ondeloc::coordinated
