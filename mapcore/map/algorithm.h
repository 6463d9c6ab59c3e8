// SPDX-License-Identifier: Apache-2.0
// The mapping algorithms. Each algorithm is a row of the table in
// mapcore/options/algorithm_table.h, joined to its function. Help, validation and documentation are
// printed from that table. One file per algorithm. Thread safety: pure functions of the request;
// the same request gives the same mapping.
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
  // A MapFunction gets the amounts of CostModel, as bytes. compute_mapping() gets the traffic
  // itself.
  const Traffic& traffic;
  const CostModel& model;
  const Mapping& previous;
  // Bytes that each rank exchanges with other nodes; empty if unknown. These bytes load the rank's
  // node.
  std::span<const double> off_node = {};
  // The machine before it was restricted, if known: layouts also count what the step may not use.
  const Machine* whole = nullptr;
  // A MapFunction gets the traffic itself here, because `traffic` may hold the amounts.
  const Traffic* raw = nullptr;
};

// `argument` is the text after the first ':' in "random:7"; empty if there is none.
using MapFunction = Result<Mapping> (*)(const MapRequest& request, std::string_view argument);

struct AlgorithmInfo : AlgorithmRow {
  MapFunction map = nullptr;
};

std::span<const AlgorithmInfo> algorithms();

// `spec` is "name" or "name:argument"; the argument is checked. The error names the known
// algorithms.
Result<const AlgorithmInfo*> find_algorithm(std::string_view spec);

// Runs `spec` on the request. The result is a valid mapping (is_valid) or an error.
Result<Mapping> compute_mapping(std::string_view spec, const MapRequest& request);

// Returns a lower bound of the cost that evaluate() predicts for the traffic under any mapping, in
// seconds; 0 if none is known. It takes far less time than a search (tree_valuation.h).
double least_cost(const MapRequest& request);

// Helper that several algorithms share. Returns the slot indexes in the order of nodes, then of the
// logical index of the slot's first PU, so that neighbours are together.
std::vector<SlotIndex> slots_by_node(const MapRequest& request);

}  // namespace ondeloc
