// SPDX-License-Identifier: Apache-2.0
// The cost model: predicted seconds of memory and link time of one interval's traffic under a
// mapping.
//
//   M_k  = sum_{i on k} sum_{j != i} S[i][j]          load of node k, bytes
//   R_kl = sum_{i on k, j on l} S[i][j]               load of the link k-l, bytes
//   congestion = max(max_k M_k / B_k, max_{k<l} R_kl / X_kl)
//   locality   = sum_{k<l} R_kl (d_kl / d_local - 1) / sum_k B_k
//   total      = congestion + locality                seconds
//
// Off-node bytes count once, on the rank's node. B and X come from hwloc's memory attributes and d
// from its distances, each when every node (pair of nodes) in use has it, never mixed with
// defaults; else B = 20 GB/s, X_kl = B d_local / d_kl, d = 10 local and 21 remote. A B that is
// given (CostOverrides) leaves hwloc's X out too. The model is not validated against run
// times: what it says is a prediction, and it is called so wherever it is printed. Thread safety:
// values and pure functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mapcore/comm/comm_matrix.h"
#include "mapcore/map/mapping.h"
#include "mapcore/topology/machine.h"

namespace ondeloc {

struct CostOverrides {
  std::optional<double> bandwidth;        // B, bytes per second and node
  std::optional<double> link_bandwidth;   // X, bytes per second and link
  std::optional<double> remote_distance;  // d_kl, k != l, with d_local = 10
};

struct CostModel {
  int nodes = 0;
  std::vector<double> bandwidth;  // B_k, bytes per second
  std::vector<double> link;       // X_kl, row-major nodes x nodes, symmetric (the slower direction)
  std::vector<double> penalty;    // d_kl / d_local - 1, row-major nodes x nodes, 0 on the diagonal
  std::string bandwidth_source;   // "hwloc", "default" or "option"
  std::string link_source;
  std::string distance_source;

  static CostModel from(const Machine& machine, const CostOverrides& overrides = {});
};

struct Cost {
  double total = 0;                    // seconds
  double congestion = 0;               // seconds
  double locality = 0;                 // seconds
  std::optional<double> remote_share;  // bytes between nodes / all bytes between different ranks
  double peak_load = 0;  // max M_k / mean M_k over the machine's nodes; 0 without traffic
};

// The terms that the cost is made of.
struct Loads {
  std::vector<double> node;  // M_k, bytes
  std::vector<double> link;  // R_kl for k < l, bytes, row-major nodes x nodes
};

// `off_node` as in evaluate. REQUIRES: is_valid(mapping, slots).
Loads add_up_loads(const CostModel& model, const SlotSet& slots, const Traffic& traffic,
                   const Mapping& mapping, std::span<const double> off_node = {});

// `off_node` (per rank, bytes in the interval) may be empty. REQUIRES: is_valid(mapping, slots).
Cost evaluate(const CostModel& model, const SlotSet& slots, const Traffic& traffic,
              const Mapping& mapping, std::span<const double> off_node = {});

}  // namespace ondeloc
