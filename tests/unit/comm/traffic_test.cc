// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include "mapcore/comm/comm_matrix.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

using Dense = std::vector<std::vector<double>>;

Dense dense(const Traffic& traffic) {
  const auto n = static_cast<std::size_t>(traffic.ranks());
  Dense out(n, std::vector<double>(n));
  for (int i = 0; i < traffic.ranks(); ++i) {
    for (const Traffic::Edge& edge : traffic.edges(i))
      out[static_cast<std::size_t>(i)][static_cast<std::size_t>(edge.peer)] += edge.bytes;
  }
  return out;
}

Dense both_directions(const CommMatrix& matrix) {
  const auto n = static_cast<std::size_t>(matrix.ranks);
  Dense out(n, std::vector<double>(n));
  for (const MatrixEntry& cell : matrix.entries) {
    out[static_cast<std::size_t>(cell.src)][static_cast<std::size_t>(cell.dst)] += cell.bytes;
    out[static_cast<std::size_t>(cell.dst)][static_cast<std::size_t>(cell.src)] += cell.bytes;
  }
  return out;
}

void check_rows(const Traffic& traffic) {
  double total = 0;
  for (int i = 0; i < traffic.ranks(); ++i) {
    double strength = 0;
    int before = -1;
    for (const Traffic::Edge& edge : traffic.edges(i)) {
      CHECK(edge.peer > before);
      CHECK(edge.bytes >= 0);
      before = edge.peer;
      strength += edge.bytes;
    }
    CHECK(strength == traffic.strength(i));
    CHECK(traffic.messages(i).size() == traffic.edges(i).size());
    const auto above = traffic.edges_above(i);
    CHECK(above.data() + above.size() == traffic.edges(i).data() + traffic.edges(i).size());
    CHECK(std::ranges::all_of(above, [&](const Traffic::Edge& edge) { return edge.peer > i; }));
    const auto below = traffic.edges(i).first(traffic.edges(i).size() - above.size());
    CHECK(std::ranges::all_of(below, [&](const Traffic::Edge& edge) { return edge.peer < i; }));
    total += strength / 2;
  }
  CHECK(total == traffic.total());
}

}  // namespace

TEST_CASE("traffic is the sum of both directions of a matrix, for any order of its cells") {
  std::mt19937 random(7);
  for (int turn = 0; turn < 40; ++turn) {
    CommMatrix matrix;
    matrix.ranks = 1 + static_cast<int>(random() % 12);
    const auto n = static_cast<unsigned>(matrix.ranks);
    for (unsigned cells = random() % 60; cells > 0; --cells) {
      const int src = static_cast<int>(random() % n), dst = static_cast<int>(random() % n);
      // Messages without bytes, too, and pairs that come more than once.
      if (src != dst) matrix.entries.push_back({src, dst, static_cast<double>(random() % 4), 1});
    }
    const Traffic traffic(matrix);
    CHECK(traffic.ranks() == matrix.ranks);
    CHECK(dense(traffic) == both_directions(matrix));
    check_rows(traffic);
    const Traffic sorted(CommMatrix::from_entries(matrix.ranks, matrix.entries));
    CHECK(dense(sorted) == dense(traffic));
    CHECK(traffic.row_begins().size() == static_cast<std::size_t>(matrix.ranks) + 1);
  }
}
