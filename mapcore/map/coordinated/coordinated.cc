// SPDX-License-Identifier: Apache-2.0
// coordinated: minimises traffic between nodes and caches, messages over long distances, and
// overload of memories, links and ports, all at once.
//
// The algorithm minimises exactly the cost that evaluate() predicts. If the partition over the NUMA
// nodes alone determines the cost, solver.h finds that partition. Otherwise tree_solve.h searches
// the tree of nodes and last-level caches. The result never costs more than the present mapping and
// the mappings of the simple algorithms.
//
// The algorithm uses fixed seeds, no clock, and comparisons with a relative tolerance only: the
// same request, or the same request scaled by a power of two, gives the same mapping.
#include "mapcore/base/text.h"
#include "mapcore/map/algorithms.h"
#include "mapcore/map/coordinated/locality_start.h"
#include "mapcore/map/coordinated/nodes_tell_all.h"
#include "mapcore/map/coordinated/place.h"
#include "mapcore/map/coordinated/solver.h"
#include "mapcore/map/coordinated/tree_solve.h"

namespace ondeloc {
namespace {

coordinated::Part nodes_of(const MapRequest& request) {
  coordinated::Part part;
  part.reserve(request.previous.size());
  for (const SlotIndex slot : request.previous)
    part.push_back(request.slots[slot.value].node.value);
  return part;
}

Mapping map_over_nodes(const MapRequest& request, int effort) {
  using namespace coordinated;
  RankGraph ranks(request);
  const Target target = Target::from(request, ranks.strength);
  const Part previous = nodes_of(request);
  if (has_nothing_to_gain(target))
    return place_on_slots(request, previous.empty() ? packed_start(ranks.view, target) : previous);
  const std::vector<double> distances = tree_distances(request.machine);
  return place_on_slots(request, solve_partition({ranks, target, distances, previous, effort}));
}

}  // namespace

Result<Mapping> map_coordinated(const MapRequest& request, std::string_view argument) {
  const auto effort = static_cast<int>(parse_unsigned(argument, kMostEffort).value_or(1));
  const bool is_silent = request.traffic.total() == 0 && request.off_node.empty();
  if (request.raw == nullptr || is_silent || coordinated::nodes_tell_all(request))
    return map_over_nodes(request, effort);
  return coordinated::solve_on_tree(request, effort);
}

}  // namespace ondeloc
