// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "mapcore/base/quantity.h"

namespace ondeloc {
namespace {

// Adds the way of a rank's off-node bytes to its adapter.
void add_way(const CostModel& model, int rank, const Slot& here, double bytes, Loads& loads) {
  const int k = here.node.value, home = model.adapters.home_of(rank, k);
  loads.all_off_node += bytes;
  if (const int pool = model.adapters.pool_of(rank, k); pool >= 0) loads.adapter[pool] += bytes;
  if (home == k) return;
  loads.far += bytes;
  loads.link[static_cast<std::size_t>(std::min(k, home) * model.nodes + std::max(k, home))] +=
      bytes;
  const double seconds = bytes * model.byte_cost_to_node(here.seat.llc, home);
  loads.adapter_time += seconds;
  if (!loads.rank.empty()) loads.rank[rank] += seconds;
}

}  // namespace

Loads add_up_loads(const CostModel& model, const SlotSet& slots, const Traffic& traffic,
                   const Mapping& mapping, std::span<const double> off_node) {
  const auto n = static_cast<std::size_t>(model.nodes);
  const int ranks = traffic.ranks();
  const double of_byte = model.byte_weight(), of_message = model.message_bytes(ranks);
  std::vector<const Slot*> slot_of;
  for (const SlotIndex slot : mapping) slot_of.push_back(&slots[slot.value]);
  Loads loads{std::vector<double>(n), std::vector<double>(n * n),
              std::vector<double>(model.port.size()),
              std::vector<double>(model.adapters.pool.empty() ? 0 : model.adapters.pools.size()),
              std::vector<double>(model.knows_ranks ? mapping.size() : 0)};
  const bool has_ports = !model.port.empty(), has_ways = model.adapters.count(off_node);
  for (int i = 0; i < ranks; ++i) {
    const Slot& here = *slot_of[i];
    const std::size_t k = here.node.value;
    loads.node[k] += of_byte * traffic.strength(i);
    if (static_cast<std::size_t>(i) < off_node.size()) {
      loads.node[k] += off_node[i];
      if (has_ports) loads.port[here.seat.llc.value] += off_node[i];
      if (has_ways) add_way(model, i, here, off_node[i], loads);
    }
    const auto edges = traffic.edges(i);
    const auto messages = traffic.messages(i);
    for (std::size_t e = 0; e < edges.size(); ++e) {
      loads.node[k] += of_message * messages[e];
      if (edges[e].peer <= i) continue;
      const Slot& there = *slot_of[edges[e].peer];
      const double amount = of_byte * edges[e].bytes + of_message * messages[e];
      const std::size_t l = there.node.value;
      if (l != k) {
        loads.link[std::min(k, l) * n + std::max(k, l)] += amount;
        loads.remote += model.weight == Weight::kMessages ? messages[e] : edges[e].bytes;
      }
      if (has_ports && !(here.seat.llc == there.seat.llc)) {
        loads.port[here.seat.llc.value] += amount;
        loads.port[there.seat.llc.value] += amount;
      }
      const double bytes = edges[e].bytes * model.byte_cost_between(here.seat, there.seat);
      const double waits = messages[e] * model.message_cost_between(here.seat, there.seat);
      loads.byte_time += bytes;
      loads.message_time += waits;
      if (loads.rank.empty()) continue;
      const double seconds =
          ranks * (model.byte_factor(ranks) * bytes + model.message_factor(ranks) * waits);
      loads.rank[i] += seconds;
      loads.rank[edges[e].peer] += seconds;
    }
  }
  loads.byte_time *= model.byte_factor(ranks);
  loads.message_time *= model.message_factor(ranks);
  loads.adapter_time *= model.byte_factor(ranks);
  return loads;
}

namespace {

void fill(Cost& cost, double seconds, Resource resource, std::size_t index) {
  if (seconds <= cost.congestion) return;
  cost.congestion = seconds;
  cost.fullest = resource;
  cost.fullest_index = static_cast<int>(index);
}

void add_congestion(const CostModel& model, const Loads& loads, Cost& cost) {
  const auto n = static_cast<std::size_t>(model.nodes);
  std::vector<double> links(model.link_capacity.size());
  for (std::size_t k = 0; k < n; ++k) {
    fill(cost, loads.node[k] / model.bandwidth[k], Resource::kMemory, k);
    for (std::size_t l = k + 1; l < n; ++l)
      links[model.link_of[k * n + l]] += loads.link[k * n + l];
  }
  for (std::size_t j = 0; j < links.size(); ++j)
    fill(cost, links[j] / model.link_capacity[j], Resource::kLink, j);
  for (std::size_t c = 0; c < loads.port.size(); ++c)
    fill(cost, loads.port[c] / model.port[c], Resource::kPort, c);
  for (std::size_t a = 0; a < loads.adapter.size(); ++a)
    fill(cost, loads.adapter[a] / model.adapters.pools[a].bandwidth, Resource::kAdapter, a);
}

}  // namespace

Cost evaluate(const CostModel& model, const SlotSet& slots, const Traffic& traffic,
              const Mapping& mapping, std::span<const double> off_node) {
  const auto n = static_cast<std::size_t>(model.nodes);
  const Loads loads = add_up_loads(model, slots, traffic, mapping, off_node);
  Cost cost;
  double sum = 0, most = 0;
  for (const double load : loads.node) sum += load, most = std::max(most, load);
  add_congestion(model, loads, cost);
  cost.byte_time = loads.byte_time;
  cost.message_time = loads.message_time;
  cost.adapter_time = loads.adapter_time;
  cost.locality = loads.byte_time + loads.message_time + loads.adapter_time;
  if (!loads.rank.empty()) {
    const auto busiest = std::max_element(loads.rank.begin(), loads.rank.end());
    cost.busiest = *busiest;
    cost.busiest_rank = static_cast<int>(busiest - loads.rank.begin());
  }
  cost.total = std::max(cost.congestion, cost.busiest) + cost.locality;
  const double all = model.weight == Weight::kMessages ? traffic.total_messages() : traffic.total();
  if (all > 0) cost.remote_share = loads.remote / all;
  if (loads.all_off_node > 0) cost.far_share = loads.far / loads.all_off_node;
  cost.peak_load = sum > 0 ? most / (sum / static_cast<double>(n)) : 0;
  return cost;
}

std::string terms_text(const Cost& cost) {
  const std::string locality = " + locality " + seconds_text(cost.locality);
  if (cost.busiest_rank < 0) return "congestion " + seconds_text(cost.congestion) + locality;
  return fmt::format("max(congestion {}, busiest rank {}){}", seconds_text(cost.congestion),
                     seconds_text(cost.busiest), locality);
}

DomainTraffic& DomainTraffic::operator+=(const DomainTraffic& more) {
  for (int d = 0; d < kDomainCount; ++d) {
    bytes[d] += more.bytes[d];
    messages[d] += more.messages[d];
  }
  return *this;
}

double DomainTraffic::all_bytes() const { return std::accumulate(bytes.begin(), bytes.end(), 0.0); }

double DomainTraffic::all_messages() const {
  return std::accumulate(messages.begin(), messages.end(), 0.0);
}

DomainTraffic traffic_by_domain(const SlotSet& slots, const Traffic& traffic,
                                const Mapping& mapping) {
  DomainTraffic split;
  for (int i = 0; i < traffic.ranks(); ++i) {
    const Seat& here = slots[mapping[i].value].seat;
    const auto edges = traffic.edges(i);
    const auto messages = traffic.messages(i);
    for (std::size_t e = 0; e < edges.size(); ++e) {
      if (edges[e].peer <= i) continue;
      const Seat& there = slots[mapping[edges[e].peer].value].seat;
      const auto domain = static_cast<std::size_t>(shared_domain(here, there));
      split.bytes[domain] += edges[e].bytes;
      split.messages[domain] += messages[e];
    }
  }
  return split;
}

std::string resource_text(const Machine& machine, const CostModel& model, const Cost& cost) {
  const auto n = static_cast<std::size_t>(model.nodes);
  const int index = cost.fullest_index;
  if (cost.fullest == Resource::kMemory)
    return fmt::format("memory of NUMA node {}", machine.nodes[index].os);
  if (cost.fullest == Resource::kPort)
    return fmt::format("port of the cache of CPUs {}", machine.llcs[index].pus.to_list());
  if (cost.fullest == Resource::kAdapter)
    return fmt::format("network adapter {}", model.adapters.pools[index].name);
  for (std::size_t at = 0; at < n * n; ++at) {
    if (model.link_of[at] != index) continue;
    const NumaNode &a = machine.nodes[at / n], &b = machine.nodes[at % n];
    return a.package == b.package
               ? fmt::format("link between NUMA nodes {} and {}", a.os, b.os)
               : fmt::format("link between packages {} and {}", a.package, b.package);
  }
  return "";
}

}  // namespace ondeloc
