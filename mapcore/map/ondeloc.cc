// SPDX-License-Identifier: Apache-2.0
// OnDeLocMap+: M. Agung, M. A. Amrizal, R. Egawa, H. Takizawa, "Online MPI Process Mapping for
// Coordinating Locality and Memory Congestion on NUMA Systems", Supercomputing Frontiers and
// Innovations 7(1), 2020, Algorithm 1. Pairs are placed in descending order of traffic. The reading
// says which node a pair gets (coordinated/starts.h):
//
//   ondeloc            as the authors' program runs: the first rank of a pair goes to its own
//                      previous node, its partner joins it; a mapping is applied only if more than
//                      ranks / nodes ranks change their node
//   ondeloc:together   a pair that was on one node stays there, else both ranks go to the next node
//   ondeloc:literal    the text word for word: each rank goes to its own previous node first. From
//                      a full previous mapping, no rank moves
//   ondeloc:fresh      like ondeloc without a previous mapping: the first turn of the published
//                      loop
#include "mapcore/map/algorithms.h"
#include "mapcore/map/coordinated/place.h"
#include "mapcore/map/coordinated/search.h"

namespace ondeloc {
namespace {

using coordinated::PairReading;

PairReading reading_of(std::string_view argument) {
  if (argument == "literal") return PairReading::kLiteral;
  return argument == "together" ? PairReading::kTogether : PairReading::kAuthors;
}

bool moves_enough(const MapRequest& request, const coordinated::Part& before,
                  const coordinated::Part& after) {
  int moved = 0;
  for (std::size_t i = 0; i < before.size(); ++i) moved += before[i] != after[i] ? 1 : 0;
  return is_many(moved, before.size(), request.model.nodes);
}

}  // namespace

Result<Mapping> map_ondeloc(const MapRequest& request, std::string_view argument) {
  const coordinated::RankGraph ranks(request);
  const auto target = coordinated::Target::from(request, ranks.strength);
  coordinated::Part previous;
  for (const SlotIndex slot : request.previous)
    previous.push_back(request.slots[slot.value].node.value);
  const coordinated::Part none;
  const auto part = coordinated::ondeloc_start(
      ranks.rows, target, argument == "fresh" ? none : previous, reading_of(argument));
  if (argument.empty() && !previous.empty() && !moves_enough(request, previous, part))
    return request.previous;
  return coordinated::place_on_slots(request, part);
}

}  // namespace ondeloc
