// SPDX-License-Identifier: Apache-2.0
// The cost model: predicted seconds of memory, link and waiting time of one interval's traffic
// under a mapping. A pair of ranks exchanges b bytes in m messages; its amount is a = b + q m, with
// q as in CostModel::message_bytes (weight=bytes: a = b; weight=messages: a = 64 m).
//
//   M_k = sum of the amounts of all ranks on NUMA node k       load of its memory controller
//   R_j = sum of the amounts of all pairs across link j        load of a link
//   P_c = sum of the amounts of all pairs with one rank in the last-level cache c and the other
//         outside                                              load of its port
//   D_a = off-node bytes of the ranks that send through the adapters a
//   congestion = max(max_k M_k / B_k, max_j R_j / X_j, max_c P_c / Y_c, max_a D_a / Z_a)
//   locality   = sum over all pairs of b T + m L / ranks       T, L: of the smallest common domain
//              + sum over all ranks of their off-node bytes times T to the node of their adapter
//   C_i        = sum over the pairs of rank i of b T + m L, and its off-node bytes as above
//   busiest    = max_i C_i, only if CostModel::knows_ranks, else 0
//   total      = congestion + busiest + locality               seconds
//
// The sum of the three terms orders the mappings of a program as simulated machines do, better than
// each term (etc/doc/cost-model.md). In C_i a message takes its latency and a byte the time between
// two cores, so that locality is the mean of all C_i, halved because each pair has two ranks.
//
// Off-node bytes count once, on the rank's node and port. If the rank's adapter is on another node,
// they also cross the link between (adapter_paths.h). With weight=messages they count nowhere:
// their messages are not known. D_a counts only if the mapping chooses the adapters. Ports count
// only on machines where some node has several last-level caches. The cost is a prediction, and
// every output calls the cost a prediction. Thread safety: values and pure functions.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mapcore/comm/comm_matrix.h"
#include "mapcore/map/cost_model.h"
#include "mapcore/map/mapping.h"

namespace ondeloc {

enum class Resource { kMemory, kLink, kPort, kAdapter };

// The load of one resource.
struct ResourceLoad {
  Resource kind = Resource::kMemory;
  int index = 0;       // NUMA node, link, last-level cache or pool of adapters
  double amount = 0;   // of adapters: bytes
  double rate = 0;     // bytes per second
  double seconds = 0;  // amount / rate
};

// The traffic in each domain.
struct DomainTraffic {
  std::array<double, kDomainCount> bytes{}, messages{};  // of pairs with this common domain
  // Bytes of pairs on two NUMA nodes. The domains do not tell: a node may hold several packages.
  double between_nodes = 0;

  // Adds a pair of ranks in these seats.
  void add(const Seat& a, const Seat& b, double pair_bytes, double pair_messages) {
    const auto domain = static_cast<std::size_t>(shared_domain(a, b));
    bytes[domain] += pair_bytes;
    messages[domain] += pair_messages;
    if (a.node != b.node) between_nodes += pair_bytes;
  }
  DomainTraffic& operator+=(const DomainTraffic& more);
  double all_bytes() const;
  double all_messages() const;
};

struct Cost {
  double total = 0;                    // seconds
  double congestion = 0;               // seconds
  double locality = 0;                 // seconds, byte_time + message_time + adapter_time
  double byte_time = 0;                // seconds
  double message_time = 0;             // seconds
  double adapter_time = 0;             // seconds
  double busiest = 0;                  // seconds
  int busiest_rank = -1;               // -1 if the model does not know the times of ranks
  std::optional<double> remote_share;  // bytes between nodes / all bytes between different ranks
  // Off-node bytes of ranks that are not near their adapter / off-node bytes; empty if the model
  // has no ways to adapters, or without such bytes.
  std::optional<double> far_share;
  double peak_load = 0;  // max M_k / mean M_k over the machine's nodes; 0 without traffic
  ResourceLoad fullest;  // its seconds are the congestion
  DomainTraffic domains;
};

// The terms of the cost.
struct Loads {
  std::vector<double> node;                // M_k, amount
  std::vector<double> link;                // R_j, amount; by number of the link in the model
  std::vector<double> port;                // P_c, amount; empty if the model has no ports
  std::vector<double> adapter;             // D_a, bytes; empty if the mapping chooses no adapters
  std::vector<double> rank;                // C_i, seconds; empty if the model does not know them
  double byte_time = 0, message_time = 0;  // seconds
  double adapter_time = 0;                 // seconds
  double far = 0, all_off_node = 0;        // off-node bytes of ranks far from their adapter, of all
  DomainTraffic domains;
};

// `off_node` as in evaluate(). REQUIRES: is_valid(mapping, slots).
Loads add_up_loads(const CostModel& model, const SlotSet& slots, const Traffic& traffic,
                   const Mapping& mapping, std::span<const double> off_node = {});

// Each resource that can be the fullest, whether or not it has a load: memory, links, ports and
// adapters, in this order.
std::vector<ResourceLoad> resource_loads(const CostModel& model, const Loads& loads);

// `off_node` (per rank, bytes in the interval) may be empty. REQUIRES: is_valid(mapping, slots).
Cost evaluate(const CostModel& model, const SlotSet& slots, const Traffic& traffic,
              const Mapping& mapping, std::span<const double> off_node = {});

// "congestion 2 ms + locality 1 ms", with the busiest rank if its time is known.
std::string terms_text(const Cost& cost);

// Returns Cost::domains where no model is at hand. REQUIRES: is_valid(mapping, slots).
DomainTraffic traffic_by_domain(const SlotSet& slots, const Traffic& traffic,
                                const Mapping& mapping);

// Two NUMA nodes by the kernel's numbers, or two packages if several pairs of nodes share the link.
struct LinkEnds {
  bool are_packages = false;
  int from = -1, to = -1;
};
LinkEnds ends_of_link(const Machine& machine, const CostModel& model, int link);

// "memory of NUMA node 1", "link between NUMA nodes 0 and 1", "port of the cache of CPUs 0-7".
std::string resource_text(const Machine& machine, const CostModel& model, const ResourceLoad& load);

}  // namespace ondeloc
