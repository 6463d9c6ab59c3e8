// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/relabel.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

// True if exchanging the names k and l leaves capacities, loads, links and penalties unchanged.
bool are_alike(const Target& target, int k, int l) {
  const auto n = static_cast<std::size_t>(target.nodes);
  const auto a = static_cast<std::size_t>(k), b = static_cast<std::size_t>(l);
  if (target.capacity[a] != target.capacity[b] || target.per_byte[a] != target.per_byte[b])
    return false;
  for (std::size_t m = 0; m < n; ++m) {
    if (m == a || m == b) continue;
    if (target.link_per_byte[a * n + m] != target.link_per_byte[b * n + m] ||
        target.penalty[a * n + m] != target.penalty[b * n + m])
      return false;
  }
  return true;
}

// Assigns rows to columns with the least sum. The matrix is n x n, row-major; the time is O(n^3).
// The method uses shortest augmenting paths (R. Jonker and A. Volgenant, Computing 38, 1987).
// Returns the row of each column.
std::vector<int> assign_least(const std::vector<int>& cost, int n) {
  constexpr int kUnreachable = std::numeric_limits<int>::max() / 2;
  const auto size = static_cast<std::size_t>(n) + 1;
  std::vector<int> row_price(size), column_price(size), row_of(size), way(size);
  for (int row = 1; row <= n; ++row) {
    row_of[0] = row;
    std::size_t column = 0;
    std::vector<int> least(size, kUnreachable);
    std::vector<char> used(size);
    do {
      used[column] = 1;
      const auto current = static_cast<std::size_t>(row_of[column]);
      int delta = kUnreachable;
      std::size_t next = 0;
      for (std::size_t j = 1; j < size; ++j) {
        if (used[j] != 0) continue;
        const int reduced = cost[(current - 1) * static_cast<std::size_t>(n) + j - 1] -
                            row_price[current] - column_price[j];
        if (reduced < least[j]) least[j] = reduced, way[j] = static_cast<int>(column);
        if (least[j] < delta) delta = least[j], next = j;
      }
      for (std::size_t j = 0; j < size; ++j) {
        if (used[j] != 0) {
          row_price[row_of[j]] += delta;
          column_price[j] -= delta;
        } else {
          least[j] -= delta;
        }
      }
      column = next;
    } while (row_of[column] != 0);
    do {
      const auto before = static_cast<std::size_t>(way[column]);
      row_of[column] = row_of[before];
      column = before;
    } while (column != 0);
  }
  std::vector<int> result;
  for (std::size_t j = 1; j < size; ++j) result.push_back(row_of[j] - 1);
  return result;
}

std::vector<std::vector<int>> classes_of(const Target& target) {
  std::vector<std::vector<int>> classes;
  for (int k = 0; k < target.nodes; ++k) {
    const auto known = std::find_if(classes.begin(), classes.end(), [&](const auto& members) {
      return are_alike(target, members.front(), k);
    });
    if (known == classes.end()) {
      classes.push_back({k});
    } else {
      known->push_back(k);
    }
  }
  return classes;
}

}  // namespace

Part renamed(std::span<const int> part, std::span<const int> names) {
  Part result;
  result.reserve(part.size());
  for (const int group : part) result.push_back(names[static_cast<std::size_t>(group)]);
  return result;
}

void name_as_before(std::span<const int> names, std::span<const int> part,
                    std::span<const int> previous, std::vector<int>& new_name) {
  const std::size_t n = names.size();
  std::vector<int> at(new_name.size(), -1), cost(n * n);
  for (std::size_t k = 0; k < n; ++k) at[names[k]] = static_cast<int>(k);
  for (std::size_t i = 0; i < part.size(); ++i)
    if (const int from = at[part[i]], to = at[previous[i]]; from >= 0 && to >= 0)
      --cost[static_cast<std::size_t>(from) * n + static_cast<std::size_t>(to)];
  const std::vector<int> group = assign_least(cost, static_cast<int>(n));
  for (std::size_t k = 0; k < n; ++k) new_name[names[group[k]]] = names[k];
}

Part relabel(const Target& target, std::span<const int> part, std::span<const int> previous) {
  std::vector<int> new_name(static_cast<std::size_t>(target.nodes));
  for (const auto& members : classes_of(target)) name_as_before(members, part, previous, new_name);
  return renamed(part, new_name);
}

std::vector<int> least_ranks(std::span<const int> part, int groups) {
  std::vector<int> least(static_cast<std::size_t>(groups), std::numeric_limits<int>::max());
  for (std::size_t i = part.size(); i-- > 0;) least[part[i]] = static_cast<int>(i);
  return least;
}

void name_in_order(std::span<const int> names, std::span<const int> least,
                   std::vector<int>& new_name) {
  std::vector<int> groups(names.begin(), names.end());
  std::stable_sort(groups.begin(), groups.end(), [&](int a, int b) { return least[a] < least[b]; });
  for (std::size_t k = 0; k < names.size(); ++k) new_name[groups[k]] = names[k];
}

Part in_order_of_ranks(const Target& target, std::span<const int> part) {
  const std::vector<int> least = least_ranks(part, target.nodes);
  std::vector<int> new_name(static_cast<std::size_t>(target.nodes));
  for (const auto& members : classes_of(target)) name_in_order(members, least, new_name);
  return renamed(part, new_name);
}

namespace {

double edge_between(const Graph& graph, int first, int second) {
  const auto row = graph.row(first);
  const auto hit = std::find_if(row.begin(), row.end(),
                                [&](const Traffic::Edge& edge) { return edge.peer == second; });
  return hit == row.end() ? 0 : hit->bytes;
}

bool is_no_worse(const Value& a, const Value& b) {
  return !is_less(b.cost, a.cost) && !is_less(b.squares, a.squares) &&
         !is_less_remote(b.remote, a.remote);
}

// Moves the vertex to its previous node: alone if there is room, else in exchange for a rank that
// does not belong there.
bool bring_home(State& state, std::span<const int> previous, int vertex) {
  const int here = state.part(vertex), home = previous[vertex];
  const double alone = state.locality_change(vertex, here, home);
  if (state.free_slots(home) > 0 &&
      is_no_worse(state.value_after(vertex, -1, home, 0, alone), state.value())) {
    state.move(vertex, home);
    return true;
  }
  const double penalty =
      2 * state.target()
              .penalty[static_cast<std::size_t>(here) * static_cast<std::size_t>(state.nodes()) +
                       static_cast<std::size_t>(home)];
  for (const int other : state.members(home)) {
    if (previous[other] == home) continue;
    const double edge = edge_between(state.graph(), vertex, other);
    const double change = alone + state.locality_change(other, home, here) + penalty * edge;
    if (!is_no_worse(state.value_after(vertex, other, home, edge, change), state.value())) continue;
    state.swap(vertex, other);
    return true;
  }
  return false;
}

}  // namespace

void move_back(State& state, std::span<const int> previous) {
  bool moved = true;
  for (int turn = 0; moved && turn < tuning::kMoveBackRounds; ++turn) {
    moved = false;
    for (int i = 0; i < state.vertices(); ++i) {
      if (state.part(i) != previous[i]) moved = bring_home(state, previous, i) || moved;
    }
  }
}

}  // namespace ondeloc::coordinated
