// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "mapcore/base/quantity.h"

namespace ondeloc {
namespace {

// Adds up the terms rank by rank. Where all ranks talk to all, the mapper spends a good part of an
// interval in add_pairs(), which counts in registers and asks for each constant once.
class LoadSum {
 public:
  LoadSum(const CostModel& model, const SlotSet& slots, const Traffic& traffic,
          const Mapping& mapping)
      : model_(model),
        traffic_(traffic),
        nodes_(static_cast<std::size_t>(model.nodes)),
        byte_factor_(model.byte_factor(traffic.ranks())),
        message_factor_(model.message_factor(traffic.ranks())),
        of_byte_(model.byte_weight()),
        of_message_(model.message_bytes(traffic.ranks())),
        has_ports_(!model.port.empty()) {
    for (const SlotIndex slot : mapping) slot_of_.push_back(&slots[slot.value]);
    const AdapterPaths& adapters = model.adapters;
    loads_.node.resize(nodes_);
    loads_.link.resize(nodes_ * nodes_);
    loads_.port.resize(model.port.size());
    loads_.adapter.resize(adapters.pool.empty() ? 0 : adapters.pools.size());
    loads_.rank.resize(model.knows_ranks ? mapping.size() : 0);
  }

  void add_memory(int rank) {
    double amount = of_byte_ * traffic_.strength(rank);
    if (of_message_ > 0)
      for (const double messages : traffic_.messages(rank)) amount += of_message_ * messages;
    loads_.node[slot_of_[rank]->node.value] += amount;
  }

  void add_off_node(int rank, double bytes) {
    const Slot& here = *slot_of_[rank];
    loads_.node[here.node.value] += bytes;
    if (has_ports_) loads_.port[here.seat.llc.value] += bytes;
  }

  // Adds the way of a rank's off-node bytes to its adapter.
  void add_way(int rank, double bytes) {
    const Slot& here = *slot_of_[rank];
    const int k = here.node.value, home = model_.adapters.home_of(rank, k);
    loads_.all_off_node += bytes;
    if (const int pool = model_.adapters.pool_of(rank, k); pool >= 0) loads_.adapter[pool] += bytes;
    if (home == k) return;
    loads_.far += bytes;
    link(k, home) += bytes;
    const double seconds = bytes * model_.byte_cost_to_node(here.seat.llc, home);
    loads_.adapter_time += seconds;
    if (!loads_.rank.empty()) loads_.rank[rank] += seconds;
  }

  // Adds the pairs of a rank with larger ranks.
  void add_pairs(int rank) {
    const double rank_bytes = traffic_.ranks() * byte_factor_;
    const double rank_waits = traffic_.ranks() * message_factor_;
    const bool knows_ranks = !loads_.rank.empty();
    const Slot& here = *slot_of_[rank];
    const auto edges = traffic_.edges_above(rank);
    const auto messages = traffic_.messages_above(rank);
    double byte_time = 0, message_time = 0, through_port = 0, seconds_of_rank = 0;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      const Slot& there = *slot_of_[edges[e].peer];
      const double amount = of_byte_ * edges[e].bytes + of_message_ * messages[e];
      if (!(there.node == here.node)) {
        link(here.node.value, there.node.value) += amount;
        loads_.remote += model_.weight == Weight::kMessages ? messages[e] : edges[e].bytes;
      }
      if (has_ports_ && !(here.seat.llc == there.seat.llc)) {
        through_port += amount;
        loads_.port[there.seat.llc.value] += amount;
      }
      loads_.domains.add(here.seat, there.seat, edges[e].bytes, messages[e]);
      const double bytes = edges[e].bytes * model_.byte_cost_between(here.seat, there.seat);
      const double waits = messages[e] * model_.message_cost_between(here.seat, there.seat);
      byte_time += bytes;
      message_time += waits;
      if (!knows_ranks) continue;
      const double seconds = rank_bytes * bytes + rank_waits * waits;
      seconds_of_rank += seconds;
      loads_.rank[edges[e].peer] += seconds;
    }
    loads_.byte_time += byte_time;
    loads_.message_time += message_time;
    if (has_ports_) loads_.port[here.seat.llc.value] += through_port;
    if (knows_ranks) loads_.rank[rank] += seconds_of_rank;
  }

  Loads take() && {
    loads_.byte_time *= byte_factor_;
    loads_.message_time *= message_factor_;
    loads_.adapter_time *= byte_factor_;
    return std::move(loads_);
  }

 private:
  double& link(int k, int l) {
    return loads_.link[static_cast<std::size_t>(std::min(k, l)) * nodes_ +
                       static_cast<std::size_t>(std::max(k, l))];
  }

  const CostModel& model_;
  const Traffic& traffic_;
  std::size_t nodes_;
  double byte_factor_, message_factor_;  // of one edge's cost
  double of_byte_, of_message_;          // of one edge's amount
  bool has_ports_;
  std::vector<const Slot*> slot_of_;
  Loads loads_;
};

}  // namespace

Loads add_up_loads(const CostModel& model, const SlotSet& slots, const Traffic& traffic,
                   const Mapping& mapping, std::span<const double> off_node) {
  LoadSum sum(model, slots, traffic, mapping);
  const bool has_ways = model.adapters.count(off_node);
  for (int i = 0; i < traffic.ranks(); ++i) {
    sum.add_memory(i);
    if (static_cast<std::size_t>(i) < off_node.size()) {
      sum.add_off_node(i, off_node[i]);
      if (has_ways) sum.add_way(i, off_node[i]);
    }
    sum.add_pairs(i);
  }
  return std::move(sum).take();
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
  cost.total = cost.congestion + cost.busiest + cost.locality;
  const double all = model.weight == Weight::kMessages ? traffic.total_messages() : traffic.total();
  if (all > 0) cost.remote_share = loads.remote / all;
  if (loads.all_off_node > 0) cost.far_share = loads.far / loads.all_off_node;
  cost.domains = loads.domains;
  cost.peak_load = sum > 0 ? most / (sum / static_cast<double>(n)) : 0;
  return cost;
}

std::string terms_text(const Cost& cost) {
  const std::string busiest =
      cost.busiest_rank < 0 ? "" : " + busiest rank " + seconds_text(cost.busiest);
  return fmt::format("congestion {}{} + locality {}", seconds_text(cost.congestion), busiest,
                     seconds_text(cost.locality));
}

DomainTraffic& DomainTraffic::operator+=(const DomainTraffic& more) {
  for (int d = 0; d < kDomainCount; ++d) {
    bytes[d] += more.bytes[d];
    messages[d] += more.messages[d];
  }
  between_nodes += more.between_nodes;
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
    const auto edges = traffic.edges_above(i);
    const auto messages = traffic.messages_above(i);
    for (std::size_t e = 0; e < edges.size(); ++e)
      split.add(here, slots[mapping[edges[e].peer].value].seat, edges[e].bytes, messages[e]);
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
