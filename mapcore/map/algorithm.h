// SPDX-License-Identifier: Apache-2.0
// The mapping algorithms: each row of the table in mapcore/options/algorithm_table.h (from which
// help, validation and documentation are printed) joined to its function. One file per algorithm.
// Thread safety: pure functions of the request; the same request gives the same mapping.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "mapcore/base/result.h"
#include "mapcore/comm/comm_matrix.h"
#include "mapcore/map/cost.h"
#include "mapcore/map/mapping.h"
#include "mapcore/options/algorithm_table.h"

namespace ondeloc {

// All references outlive the call. REQUIRES: slots.size() >= traffic.ranks(); previous is empty (no
// mapping yet) or a valid mapping of all ranks.
struct MapRequest {
  const Machine& machine;  // restricted to the PUs of the step
  const SlotSet& slots;
  const Traffic& traffic;
  const CostModel& model;
  const Mapping& previous;
  // Bytes that each rank exchanges with other nodes; empty where unknown. They load the rank's
  // node.
  std::span<const double> off_node = {};
  // The machine before it was restricted, where known: layouts count what the step may not use.
  const Machine* whole = nullptr;
};

// `argument` is what follows the first ':' in "random:7", empty without one.
using MapFunction = Result<Mapping> (*)(const MapRequest& request, std::string_view argument);

struct AlgorithmInfo : AlgorithmRow {
  MapFunction map = nullptr;
};

std::span<const AlgorithmInfo> algorithms();

// "name" or "name:argument"; the argument is checked. The error names the known algorithms.
Result<const AlgorithmInfo*> find_algorithm(std::string_view spec);

// Runs spec on the request; the result is valid (is_valid) or an error.
Result<Mapping> compute_mapping(std::string_view spec, const MapRequest& request);

// Helpers that several algorithms share.
// Slot indexes in the order of nodes, then of the smallest PU's logical index: "neighbours
// together".
std::vector<SlotIndex> slots_by_node(const MapRequest& request);

}  // namespace ondeloc
