// SPDX-License-Identifier: Apache-2.0
// The constants of the cost model of one machine, and the source of each constant. cost.h has the
// formulas; cost_model.cc and etc/doc/cost-model.md have the defaults and their sources.
//
// Each kind of constant has one source for the whole machine: the first of an option, the machine
// file that `ondeloc measure` wrote, hwloc, and a default that has the number for every node (pair
// of nodes) in use. If an option gives the bandwidth, links come neither from the machine file nor
// from hwloc. Thread safety: a value and pure functions.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mapcore/comm/comm_matrix.h"
#include "mapcore/map/adapter_paths.h"
#include "mapcore/options/option_enums.h"
#include "mapcore/topology/machine.h"
#include "mapcore/topology/machine_file.h"

namespace ondeloc {

struct CostOverrides {
  std::optional<double> bandwidth;        // B, bytes per second and node
  std::optional<double> link_bandwidth;   // X, bytes per second and link
  std::optional<double> remote_distance;  // d_kl, k != l, with d_local = 10
  // Default: time for machines with several last-level caches and for a machine file, else bytes.
  std::optional<Weight> weight;
  const MachineFile* measured = nullptr;  // outlives the call
  bool adapters = false;  // count the ways of off-node bytes to the nearest network adapters
};

struct CostModel {
  Weight weight = Weight::kTime;
  int nodes = 0;
  std::vector<double> bandwidth;  // B_k, bytes per second
  std::vector<double> link;       // X_kl, row-major nodes x nodes, symmetric (the slower direction)
  std::vector<double> penalty;    // d_kl / d_local - 1, row-major nodes x nodes, 0 on the diagonal

  // The tree. A link joins a pair of nodes of one package, or a pair of packages.
  int llcs = 0;
  std::vector<int> node_of_llc;
  std::vector<int> link_of;  // row-major nodes x nodes: link of the pair, -1 on the diagonal
  std::vector<double> link_capacity;  // of each link, bytes per second
  // Y_c of each last-level cache towards the rest of the chip; empty if every node has one cache.
  std::vector<double> port;
  // L_cd and T_cd, row-major llcs x llcs: the seconds that a message and a byte between the caches
  // c and d take more than in the nearest domain of the machine. A message delays one rank, so that
  // L is divided by the number of ranks. If `byte_cost_is_shared`, T is divided too (T is a time
  // between two cores). Otherwise T counts in full (between compute nodes T is a share of the
  // bandwidth of an adapter).
  std::vector<double> message_cost, byte_cost;
  bool byte_cost_is_shared = false;
  // True if L and T are times between two cores of this machine, so that the time of each rank is
  // known: always with several last-level caches.
  bool knows_ranks = false;
  // The same for two ranks in one cache that share a core, an L2, or only the cache.
  std::array<double, 3> message_cost_inside{}, byte_cost_inside{};
  AdapterPaths adapters;  // empty: off-node bytes cost nothing on their way to an adapter
  std::array<double, kDomainCount> latency{};  // one message between ranks with that common domain

  std::string bandwidth_source;  // "option", "measured ...", "hwloc" or "default"
  std::string link_source;
  std::string distance_source;
  std::string latency_source;
  std::string byte_source;
  std::string port_source;
  // Each kind of constant and its source; "weight" and its name first.
  std::vector<std::pair<std::string, std::string>> sources() const;
  // "hwloc's numbers and the cost model's defaults": the sources in a phrase.
  std::string numbers() const;

  static CostModel from(const Machine& machine, const CostOverrides& overrides = {});

  std::size_t at(LlcIndex c, LlcIndex d) const {
    return static_cast<std::size_t>(c.value) * static_cast<std::size_t>(llcs) +
           static_cast<std::size_t>(d.value);
  }
  double message_cost_between(const Seat& a, const Seat& b) const;  // L
  double byte_cost_between(const Seat& a, const Seat& b) const;     // T
  // The seconds that a byte between the cache and the memory of another node takes more than one
  // between the cache and its own node. REQUIRES: the node has a last-level cache.
  double byte_cost_to_node(LlcIndex llc, int node) const;

  // The cost of one edge is byte_factor x bytes x T + message_factor x messages x L.
  double byte_factor(int ranks) const;
  double message_factor(int ranks) const;
  // The amount of an edge is byte_weight() x bytes + message_bytes() x messages; loads are sums of
  // amounts. A message counts as the number of bytes that take as long as its latency: the
  // half-performance length of R. W. Hockney, "The communication challenge for MPP", Parallel
  // Computing 20(3), 1994.
  double byte_weight() const { return weight == Weight::kMessages ? 0 : 1; }
  double message_bytes(int ranks) const;
  // The cost that one unit of amount between nodes k and l adds to the locality term. Exact if L
  // and T are in one proportion for all pairs of nodes.
  double amount_cost(int k, int l, int ranks) const;
  double amount_cost_between(int llc, int other, int ranks) const;  // the same for two caches
  // Returns the amounts as traffic, or nothing if the amounts are the bytes.
  std::optional<Traffic> amounts(const Traffic& traffic) const;
};

// Inline: evaluate() asks for each pair of ranks.
inline double CostModel::message_cost_between(const Seat& a, const Seat& b) const {
  if (!(a.llc == b.llc)) return message_cost[at(a.llc, b.llc)];
  return message_cost_inside[static_cast<std::size_t>(std::min(shared_domain(a, b), Domain::kLlc))];
}

inline double CostModel::byte_cost_between(const Seat& a, const Seat& b) const {
  if (!(a.llc == b.llc)) return byte_cost[at(a.llc, b.llc)];
  return byte_cost_inside[static_cast<std::size_t>(std::min(shared_domain(a, b), Domain::kLlc))];
}

}  // namespace ondeloc
