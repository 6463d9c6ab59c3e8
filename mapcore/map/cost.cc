// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "mapcore/base/quantity.h"
#include "mapcore/map/mapping_io.h"

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
    loads_.link.resize(model.link_capacity.size());
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
    loads_.node[here.node.value] += of_byte_ * bytes;
    if (has_ports_) loads_.port[here.seat.llc.value] += of_byte_ * bytes;
  }

  // Adds the way of a rank's off-node bytes to its adapter.
  void add_way(int rank, double bytes) {
    const Slot& here = *slot_of_[rank];
    const int k = here.node.value, home = model_.adapters.home_of(rank, k);
    loads_.all_off_node += bytes;
    if (const int pool = model_.adapters.pool_of(rank, k); pool >= 0)
      loads_.adapter[pool] += of_byte_ * bytes;
    if (home == k) return;
    loads_.far += bytes;
    link(k, home) += of_byte_ * bytes;
    const double seconds = of_byte_ * bytes * model_.byte_cost_to_node(here.seat.llc, home);
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
      if (!(there.node == here.node)) link(here.node.value, there.node.value) += amount;
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
    return loads_
        .link[model_.link_of[static_cast<std::size_t>(k) * nodes_ + static_cast<std::size_t>(l)]];
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

// Calls `visit` with each ResourceLoad. Between compute nodes there are too many links to keep a
// list of them for each mapping.
template <class Visit>
void visit_resources(const CostModel& model, const Loads& loads, Visit visit) {
  const auto each = [&](Resource kind, const std::vector<double>& amounts, auto rate_of) {
    for (std::size_t i = 0; i < amounts.size(); ++i) {
      const double rate = rate_of(i);
      visit(ResourceLoad{kind, static_cast<int>(i), amounts[i], rate, amounts[i] / rate});
    }
  };
  each(Resource::kMemory, loads.node, [&](std::size_t k) { return model.bandwidth[k]; });
  each(Resource::kLink, loads.link, [&](std::size_t j) { return model.link_capacity[j]; });
  each(Resource::kPort, loads.port, [&](std::size_t c) { return model.port[c]; });
  each(Resource::kAdapter, loads.adapter,
       [&](std::size_t a) { return model.adapters.pools[a].bandwidth; });
}

void add_congestion(const CostModel& model, const Loads& loads, Cost& cost) {
  visit_resources(model, loads, [&cost](const ResourceLoad& load) {
    if (load.seconds <= cost.congestion) return;
    cost.congestion = load.seconds;
    cost.fullest = load;
  });
}

}  // namespace

std::vector<ResourceLoad> resource_loads(const CostModel& model, const Loads& loads) {
  std::vector<ResourceLoad> all;
  visit_resources(model, loads, [&all](const ResourceLoad& load) { all.push_back(load); });
  return all;
}

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
  if (traffic.total() > 0) cost.remote_share = loads.domains.between_nodes / traffic.total();
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

LinkEnds ends_of_link(const Machine& machine, const CostModel& model, int link) {
  const auto n = static_cast<std::size_t>(model.nodes);
  LinkEnds ends;
  int pairs = 0;
  for (std::size_t k = 0; k < n; ++k) {
    for (std::size_t l = k + 1; l < n; ++l) {
      if (model.link_of[k * n + l] != link) continue;
      const NumaNode &a = machine.nodes[k], &b = machine.nodes[l];
      ends.are_packages = ++pairs > 1;
      ends.from = ends.are_packages ? a.package : a.os;
      ends.to = ends.are_packages ? b.package : b.os;
    }
  }
  return ends;
}

std::string resource_text(const Machine& machine, const CostModel& model,
                          const ResourceLoad& load) {
  if (load.kind == Resource::kMemory)
    return fmt::format("memory of NUMA node {}", numa_name(machine.nodes[load.index].os));
  if (load.kind == Resource::kPort)
    return fmt::format("port of the cache of CPUs {}", machine.llcs[load.index].pus.to_list());
  if (load.kind == Resource::kAdapter)
    return fmt::format("network adapter {}", model.adapters.pools[load.index].name);
  const LinkEnds ends = ends_of_link(machine, model, load.index);
  return ends.are_packages ? fmt::format("link between packages {} and {}", ends.from, ends.to)
                           : fmt::format("link between NUMA nodes {} and {}", numa_name(ends.from),
                                         numa_name(ends.to));
}

}  // namespace ondeloc
