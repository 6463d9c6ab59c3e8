// SPDX-License-Identifier: Apache-2.0
#include "mapcore/place/placed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "mapcore/map/algorithm.h"
#include "mapcore/place/mixed_layout.h"

namespace ondeloc {
namespace {

// The same traffic among ranks with other numbers: rank i gets number[i].
Traffic renumbered(const Traffic& traffic, const std::vector<int>& number) {
  std::vector<MatrixEntry> entries;
  entries.reserve(traffic.pairs());
  for (int i = 0; i < traffic.ranks(); ++i) {
    const auto edges = traffic.edges(i);
    const auto messages = traffic.messages(i);
    for (std::size_t e = 0; e < edges.size(); ++e)
      if (edges[e].peer > i)
        entries.push_back({number[i], number[edges[e].peer], edges[e].bytes, messages[e]});
  }
  return Traffic(CommMatrix::from_entries(traffic.ranks(), std::move(entries)));
}

// The order is the same with every standard library.
std::vector<int> shuffled(int ranks, std::mt19937_64& random) {
  std::vector<int> numbers(static_cast<std::size_t>(ranks));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (std::size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[random() % i]);
  return numbers;
}

// Up to this product of ranks and nodes the search also sees the adapters. Beyond it, the search
// minimises the bytes and messages between nodes, and the adapters only choose among its results.
constexpr std::int64_t kSmall = 16384;

// The numbers of the ranks decide ties of the search, so that each order of them is another search,
// and a short one. Distributions that agree end these searches. All of them may still miss a
// cheaper one: that of a recorded cg on 8 nodes costs 9 % less, and only a long search finds it.
struct Effort {
  int orders;               // at most
  int agree;                // that have to agree
  int from_nothing;         // orders before two of three start from a mixture of those found
  std::string long_search;  // from the cheapest; empty: none
};

// One order takes less time than Scotch as a program calls it, two take more. For more effort, with
// 60 orders from nothing KaHIP dominated 3 of 321 cases of tests/bench/mapping/nodes.cc, with 100
// orders 2, with 150 none. With mixtures, 120 orders are enough, and no case costs more than with
// 20 orders from nothing. If a third of the orders, not a fifth, came before mixtures, 2 cases did.
constexpr int kOrdersPerEffort = 4, kAgree = 8, kShareFromNothing = 5, kMixedOf = 3;
Effort allowed_by(int effort) {
  if (effort < 2) return {1, 1, 1, {}};
  const int orders = kOrdersPerEffort * effort;
  return {orders, kAgree, orders / kShareFromNothing, fmt::format("coordinated:{}", effort)};
}
constexpr double kSame = 1e-3;  // share of the cost
constexpr std::uint64_t kSeed = 1;

// A distribution that was found, and its predicted seconds.
struct Found {
  NodeOfRank layout;
  double seconds = 0;
  bool is_fresh = true;  // not from a mixture, which often leads back to the cheapest
};

class Search {
 public:
  Search(const Network& network, const Traffic& traffic)
      : network_(network), traffic_(traffic), model_(network.model) {
    const std::int64_t size = static_cast<std::int64_t>(traffic.ranks()) * network.model.nodes;
    if (size > kSmall) model_.port.clear();
  }

  void keep(NodeOfRank layout, bool is_fresh = true) {
    const double seconds = seconds_of_layout(network_, traffic_, layout);
    found_.push_back({std::move(layout), seconds, is_fresh});
  }
  Status run(const std::string& algorithm, const Mapping& start) {
    auto mapping =
        compute_mapping(algorithm, {network_.machine, network_.slots, traffic_, model_, start});
    if (!mapping) return std::move(mapping).error();
    keep(layout_of(network_, *mapping));
    return {};
  }
  // With rank i called number[i]. `start`: empty to start from nothing.
  Status run_renumbered(const std::vector<int>& number, const NodeOfRank& start) {
    const Traffic traffic = renumbered(traffic_, number);
    NodeOfRank layout(start.size());
    for (std::size_t i = 0; i < start.size(); ++i) layout[number[i]] = start[i];
    const Mapping from = mapping_of(network_, layout);
    auto mapping =
        compute_mapping("coordinated", {network_.machine, network_.slots, traffic, model_, from});
    if (!mapping) return std::move(mapping).error();
    layout.clear();
    for (const int own : number) layout.push_back(network_.slots[(*mapping)[own].value].node.value);
    keep(std::move(layout), start.empty());
    return {};
  }
  // The cheapest distribution mixed with one of all that were found.
  NodeOfRank mixture(std::mt19937_64& random) const {
    const NodeOfRank& other = found_[random() % found_.size()].layout;
    return mixed_layout(cheapest().layout, other, network_.machine.nodes.size(), random);
  }
  NodeOfRank exchange(std::mt19937_64& random) const {
    return exchanged_layout(cheapest().layout, traffic_, random);
  }
  const Found& cheapest() const {
    return *std::min_element(found_.begin(), found_.end(),
                             [](const Found& a, const Found& b) { return a.seconds < b.seconds; });
  }
  // Returns the number of fresh distributions that cost no more than the cheapest, but for kSame.
  std::ptrdiff_t agreeing() const {
    const double most = cheapest().seconds * (1 + kSame);
    return std::count_if(found_.begin(), found_.end(),
                         [most](const Found& one) { return one.is_fresh && one.seconds <= most; });
  }

 private:
  const Network& network_;
  const Traffic& traffic_;
  CostModel model_;
  std::vector<Found> found_;
};

Status search_orders(Search& search, const Effort& effort, int ranks) {
  std::mt19937_64 random(kSeed);
  for (int turn = 1; turn < effort.orders && search.agreeing() < effort.agree; ++turn) {
    NodeOfRank start;
    if (turn >= effort.from_nothing && turn % kMixedOf != 0)
      start = turn % 2 == 0 ? search.mixture(random) : search.exchange(random);
    if (Status ran = search.run_renumbered(shuffled(ranks, random), start); !ran) return ran;
  }
  return {};
}

}  // namespace

Result<NodeOfRank> placed_layout(const Network& network, const Traffic& traffic, int effort) {
  const Effort allowed = allowed_by(effort);
  std::vector<int> counts(network.machine.nodes.size());
  for (const Slot& slot : network.slots) ++counts[slot.node.value];
  Search search(network, traffic);
  search.keep(block_layout(counts));
  search.keep(cyclic_layout(counts));
  if (Status ran = search.run("coordinated", {}); !ran) return std::move(ran).error();
  if (Status ran = search_orders(search, allowed, traffic.ranks()); !ran)
    return std::move(ran).error();
  if (!allowed.long_search.empty()) {
    const Mapping start = mapping_of(network, search.cheapest().layout);
    if (Status ran = search.run(allowed.long_search, start); !ran) return std::move(ran).error();
  }
  return search.cheapest().layout;
}

}  // namespace ondeloc
