// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/tree_state.h"

#include <algorithm>

namespace ondeloc::coordinated {

TreeState::TreeState(const TreeTarget& target) : target_(target), busy_(target) {
  const auto n = static_cast<std::size_t>(target.ranks);
  const auto c = static_cast<std::size_t>(target.llcs), k = static_cast<std::size_t>(target.nodes);
  part_.resize(n);
  members_.resize(c);
  position_.resize(n);
  price_.resize(n * c);
  amount_.resize(n * c);
  by_node_.resize(n * k);
  loads_.clear(target);
  scratch_ = loads_;
}

void TreeState::reset(const Part& part) {
  part_ = part;
  for (auto& list : members_) list.clear();
  for (auto* numbers : {&price_, &amount_, &by_node_})
    std::fill(numbers->begin(), numbers->end(), 0);
  loads_.clear(target_);
  locality_ = 0;
  for (int i = 0; i < target_.ranks; ++i) {
    const int own = part_[i], node = target_.node_of[own];
    position_[i] = members_[own].size();
    members_[own].push_back(i);
    loads_.node[node] += target_.strength[i];
    double* price = &price_[target_.at(i, 0)];
    double* amount = &amount_[target_.at(i, 0)];
    add_prices(i, price, amount);
    for (int c = 0; c < target_.llcs; ++c)
      by_node_[static_cast<std::size_t>(i) * target_.nodes + target_.node_of[c]] += amount[c];
    if (target_.has_ports) loads_.port[own] += target_.strength[i] - amount[own];
    add_links_of(i, node, 0.5, loads_.link);
    locality_ += price[own] / 2;
    if (!target_.way_cost.empty()) {
      for (int c = 0; c < target_.llcs; ++c) price[c] += target_.cost_of_way(i, c);
      locality_ += target_.cost_of_way(i, own);
      loads_.add_way(target_, i, node, 1);
    }
    busy_.set(i, price[own]);
  }
  refresh();
}

// Adds the costs of the rank's edges in each cache, and the amounts with each cache. If the rank
// has many edges, the work of all edges to one cache is added up first.
void TreeState::add_prices(int rank, double* price, double* amount) {
  const auto row = target_.row(rank);
  const int llcs = target_.llcs;
  const auto add = [&](double bytes, double messages, int there) {
    const double* byte_cost = &target_.byte_cost[target_.at(there, 0)];
    const double* message_cost = &target_.message_cost[target_.at(there, 0)];
    for (int c = 0; c < llcs; ++c) price[c] += bytes * byte_cost[c] + messages * message_cost[c];
  };
  if (row.size() <= static_cast<std::size_t>(llcs)) {
    for (const TreeEdge& edge : row) {
      const int there = part_[edge.peer];
      add(edge.byte_work, edge.message_work, there);
      amount[there] += edge.amount;
    }
    return;
  }
  work_.assign(target_.capacity.size(), {});
  for (const TreeEdge& edge : row) {
    const int there = part_[edge.peer];
    work_[there].bytes += edge.byte_work;
    work_[there].messages += edge.message_work;
    amount[there] += edge.amount;
  }
  for (int c = 0; c < llcs; ++c)
    if (work_[c].bytes + work_[c].messages > 0) add(work_[c].bytes, work_[c].messages, c);
}

void TreeState::add_links_of(int rank, int node, double sign, std::vector<double>& link) const {
  for (int k = 0; k < target_.nodes; ++k) {
    if (k != node) link[target_.link_between(node, k)] += sign * amount_to_node(rank, k);
  }
}

Value TreeState::value_of(const TreeLoads& loads, double others) const {
  Value value;
  double most = 0;
  const auto add = [&](double seconds) {
    most = std::max(most, seconds);
    value.squares += seconds * seconds;
  };
  for (std::size_t k = 0; k < loads.node.size(); ++k) add(loads.node[k] * target_.per_node[k]);
  for (std::size_t j = 0; j < loads.link.size(); ++j)
    most = std::max(most, loads.link[j] * target_.per_link[j]);
  for (std::size_t c = 0; target_.has_ports && c < loads.port.size(); ++c)
    add(loads.port[c] * target_.per_port[c]);
  for (std::size_t a = 0; a < loads.adapter.size(); ++a)
    most = std::max(most, loads.adapter[a] * target_.per_adapter[a]);
  value.cost = most + others;
  return value;
}

void TreeState::refresh() {
  value_ = {};
  fullest_nodes_ = fullest_ports_ = {};
  fullest_link_ = fullest_adapter_ = 0;
  for (int k = 0; k < target_.nodes; ++k) {
    const double seconds = loads_.node[k] * target_.per_node[k];
    value_.squares += seconds * seconds;
    fullest_nodes_.add(k, seconds);
  }
  for (int j = 0; j < target_.links; ++j) {
    const double seconds = loads_.link[j] * target_.per_link[j];
    if (seconds <= fullest_link_) continue;
    fullest_link_ = seconds;
    fullest_link_index_ = j;
  }
  for (int c = 0; target_.has_ports && c < target_.llcs; ++c) {
    const double seconds = loads_.port[c] * target_.per_port[c];
    value_.squares += seconds * seconds;
    fullest_ports_.add(c, seconds);
  }
  for (std::size_t a = 0; a < loads_.adapter.size(); ++a)
    fullest_adapter_ = std::max(fullest_adapter_, loads_.adapter[a] * target_.per_adapter[a]);
  kept_outside_ = std::max({fullest_nodes_.seconds[0], fullest_link_, fullest_adapter_});
  congestion_ = std::max(kept_outside_, fullest_ports_.seconds[0]);
  busy_.find(part_);
  value_.cost = beside_locality() + locality_;
}

// Adds the changes of two moves, one after the other: the rank to `to`, then the partner back.
void TreeState::change_loads(int rank, int partner, int to, double edge, TreeLoads& loads) const {
  const int from = part_[rank], m = target_.node_of[from], n = target_.node_of[to];
  const double strength = target_.strength[rank];
  const double back = partner >= 0 ? target_.strength[partner] : 0;
  if (target_.has_ports) {
    const std::size_t in = target_.at(rank, 0);
    loads.port[from] += 2 * amount_[in + from] - strength;
    loads.port[to] += strength - 2 * amount_[in + to];
    if (partner >= 0) {
      const std::size_t out = target_.at(partner, 0);
      loads.port[to] += 2 * (amount_[out + to] + edge) - back;
      loads.port[from] += back - 2 * (amount_[out + from] - edge);
    }
  }
  if (m == n) return;
  loads.node[m] += back - strength;
  loads.node[n] += strength - back;
  add_links_of(rank, m, -1, loads.link);
  add_links_of(rank, n, 1, loads.link);
  loads.add_way(target_, rank, m, -1);
  loads.add_way(target_, rank, n, 1);
  if (partner < 0) return;
  add_links_of(partner, n, -1, loads.link);
  add_links_of(partner, m, 1, loads.link);
  // The edge between the two ranks crosses before and after the swap. The calls of
  // add_links_of() saw the other rank in its old place.
  loads.link[target_.link_between(m, n)] += 2 * edge;
  loads.add_way(target_, partner, n, -1);
  loads.add_way(target_, partner, m, 1);
}

void TreeState::Fullest::add(int index, double load) {
  for (int place = 0; place < 3; ++place) {
    if (which[place] >= 0 && seconds[place] >= load) continue;
    std::swap(which[place], index);
    std::swap(seconds[place], load);
    if (index < 0) return;
  }
}

// The larger one of congestion and busiest rank comes first: it nearly always shows that a
// candidate costs too much.
Value TreeState::least_after(int rank, int partner, int to, const TreeEdge* edge,
                             double limit) const {
  const double locality = locality_after(rank, partner, to, edge);
  const double amount = edge == nullptr ? 0 : edge->amount;
  const double room = limit * (1 + kTieTolerance) - locality;
  const bool ranks_first = busy_.counts() && busy_.most() >= congestion_;
  double busiest = mean_time(locality), squares = 0;
  const auto look_at_ranks = [&] {
    busiest = std::max(busiest, least_busiest_after(rank, partner, to, edge));
  };
  if (ranks_first) look_at_ranks();
  if (const double least = busiest + target_.least_congestion; least > room)
    return {least + locality, 0, 0};
  const double congestion = congestion_after(rank, partner, to, amount, room - busiest, squares);
  if (busy_.counts() && !ranks_first && congestion <= room - busiest) look_at_ranks();
  return {congestion + busiest + locality, squares, 0};
}

TreeState::OwnPrices TreeState::own_prices_after(int rank, int partner, int to,
                                                 const TreeEdge* edge) const {
  const int from = part_[rank];
  OwnPrices own{price(rank, to), partner >= 0 ? price(partner, from) : 0};
  if (edge != nullptr) {
    const double apart = target_.cost(*edge, from, to);
    own.mine += apart - target_.cost(*edge, to, to);
    own.theirs += apart - target_.cost(*edge, from, from);
  }
  return own;
}

double TreeState::least_busiest_after(int rank, int partner, int to, const TreeEdge* edge) const {
  const auto [mine, theirs] = own_prices_after(rank, partner, to, edge);
  return busy_.least_after({rank, partner, part_[rank], to}, mine, theirs);
}

double TreeState::busiest_after(int rank, int partner, int to, const TreeEdge* edge,
                                double limit) const {
  if (!busy_.counts()) return 0;
  const auto [mine, theirs] = own_prices_after(rank, partner, to, edge);
  return busy_.after({rank, partner, part_[rank], to}, mine, theirs, limit);
}

double TreeState::congestion_after(int rank, int partner, int to, double amount, double limit,
                                   double& squares) const {
  const int from = part_[rank], m = target_.node_of[from], n = target_.node_of[to];
  const double strength = target_.strength[rank];
  const double back = partner >= 0 ? target_.strength[partner] : 0;
  double most = 0;
  squares = value_.squares;
  const auto change = [&](double load, double more, double per) {
    const double before = load * per, after = (load + more) * per;
    squares += (after - before) * (after + before);
    most = std::max(most, after);
  };
  if (m == n) {
    most = kept_outside_;
  } else {
    most = fullest_nodes_.without(m, n);
    change(loads_.node[m], back - strength, target_.per_node[m]);
    change(loads_.node[n], strength - back, target_.per_node[n]);
    if (most <= limit && fullest_link_ > most)
      most = std::max(most, fullest_link_after(rank, partner, to, amount));
  }
  if (most > limit) return most;
  if (target_.has_ports) {
    const std::size_t in = target_.at(rank, 0);
    double left = 2 * amount_[in + from] - strength;
    double joined = strength - 2 * amount_[in + to];
    if (partner >= 0) {
      const std::size_t out = target_.at(partner, 0);
      joined += 2 * (amount_[out + to] + amount) - back;
      left += back - 2 * (amount_[out + from] - amount);
    }
    most = std::max(most, fullest_ports_.without(from, to));
    change(loads_.port[from], left, target_.per_port[from]);
    change(loads_.port[to], joined, target_.per_port[to]);
  }
  return most;
}

// Returns the time of the link that is the fullest now; 0 if ways to adapters load links too.
double TreeState::fullest_link_after(int rank, int partner, int to, double edge) const {
  if (!target_.way_cost.empty()) return 0;
  if (keeps_fullest_link(target_.node_of[part_[rank]], target_.node_of[to])) return fullest_link_;
  const int* out =
      &target_.link_of[static_cast<std::size_t>(target_.node_of[part_[rank]]) * target_.nodes];
  const int* in = &target_.link_of[static_cast<std::size_t>(target_.node_of[to]) * target_.nodes];
  const int link = fullest_link_index_;
  double change = out[target_.node_of[to]] == link ? 2 * edge : 0;
  for (int k = 0; k < target_.nodes; ++k) {
    const int joins = in[k] == link ? 1 : 0, leaves = out[k] == link ? 1 : 0;
    if (joins == leaves) continue;
    const double amount = amount_to_node(rank, k) - (partner >= 0 ? amount_to_node(partner, k) : 0);
    change += joins > leaves ? amount : -amount;
  }
  return (loads_.link[link] + change) * target_.per_link[link];
}

double TreeState::locality_after(int rank, int partner, int to, const TreeEdge* edge) const {
  const int from = part_[rank];
  double locality = locality_ + price(rank, to) - price(rank, from);
  if (partner >= 0) {
    locality += price(partner, from) - price(partner, to);
    if (edge != nullptr)
      locality += 2 * target_.cost(*edge, from, to) - target_.cost(*edge, from, from) -
                  target_.cost(*edge, to, to);
  }
  return locality;
}

Value TreeState::value_after(int rank, int partner, int to, const TreeEdge* edge,
                             double limit) const {
  const double amount = edge == nullptr ? 0 : edge->amount;
  const double locality = locality_after(rank, partner, to, edge);
  const double room = limit * (1 + kTieTolerance) - locality;
  const double busiest = busiest_after(rank, partner, to, edge, room - target_.least_congestion);
  if (const double least = busiest + target_.least_congestion + locality; is_less(limit, least))
    return {least, 0, 0};
  if (target_.node_of[part_[rank]] == target_.node_of[to]) {
    double squares = 0;
    const double congestion = congestion_after(rank, partner, to, amount, room - busiest, squares);
    return {congestion + busiest + locality, squares, 0};
  }
  scratch_ = loads_;
  change_loads(rank, partner, to, amount, scratch_);
  return value_of(scratch_, busiest + locality);
}

void TreeState::shift(int rank, int to) {
  const int from = part_[rank];
  change_loads(rank, -1, to, 0, loads_);
  locality_ += price(rank, to) - price(rank, from);
  const int m = target_.node_of[from], n = target_.node_of[to];
  for (const TreeEdge& edge : target_.row(rank)) {
    double* price = &price_[target_.at(edge.peer, 0)];
    target_.visit_differing(from, to, [&](int c) {
      price[c] += target_.cost(edge, c, to) - target_.cost(edge, c, from);
    });
    double* amount = &amount_[target_.at(edge.peer, 0)];
    amount[from] -= edge.amount;
    amount[to] += edge.amount;
    if (m == n) continue;
    double* nodes = &by_node_[static_cast<std::size_t>(edge.peer) * target_.nodes];
    nodes[m] -= edge.amount;
    nodes[n] += edge.amount;
  }
  std::vector<int>& left = members_[from];
  left[position_[rank]] = left.back();
  position_[left.back()] = position_[rank];
  left.pop_back();
  position_[rank] = members_[to].size();
  members_[to].push_back(rank);
  part_[rank] = to;
  if (!busy_.counts()) return;
  const auto set_time = [this](int each) { busy_.set(each, price(each, part_[each])); };
  set_time(rank);
  for (const TreeEdge& edge : target_.row(rank)) set_time(edge.peer);
}

void TreeState::move(int rank, int to) {
  shift(rank, to);
  refresh();
}

void TreeState::swap(int rank, int partner) {
  const int from = part_[rank], to = part_[partner];
  shift(rank, to);
  shift(partner, from);
  refresh();
}

}  // namespace ondeloc::coordinated
