// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <random>

#include "mapcore/place/placed.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

CommMatrix random_matrix(int ranks, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < ranks; ++i)
    for (int j = 0; j < ranks; ++j)
      if (i != j && random() % 3 == 0)
        entries.push_back(
            {i, j, static_cast<double>(random() % 1000000), static_cast<double>(1 + random() % 9)});
  return CommMatrix::from_entries(ranks, entries);
}

double cheapest_of_all(const Network& network, const Traffic& traffic, NodeOfRank layout) {
  std::sort(layout.begin(), layout.end());
  double least = cost_of_layout(network, traffic, layout).seconds;
  while (std::next_permutation(layout.begin(), layout.end()))
    least = std::min(least, cost_of_layout(network, traffic, layout).seconds);
  return least;
}

}  // namespace

TEST_CASE("ranks are dealt to nodes as srun deals them") {
  CHECK(even_counts({4, 4}, 6) == std::vector<int>{3, 3});
  CHECK(even_counts({1, 8, 8}, 9) == std::vector<int>{1, 4, 4});
  CHECK(even_counts({2, 2}, 5).empty());
  CHECK(block_layout({2, 1, 3}) == NodeOfRank{0, 0, 1, 2, 2, 2});
  CHECK(cyclic_layout({2, 1, 3}) == NodeOfRank{0, 1, 2, 0, 2, 2});
  CHECK(plane_layout({4, 3}, 2) == NodeOfRank{0, 0, 1, 1, 0, 0, 1});
  CHECK(ranks_by_node({1, 0, 1}, 3) == std::vector<std::vector<int>>{{1}, {0, 2}, {}});
}

TEST_CASE("the cost of a distribution is that of the formulas") {
  // 0 -> 2 and 1 -> 3 leave their nodes in block order: 3000 and 1000 bytes in 3 and 1 messages.
  const Traffic traffic(
      CommMatrix::from_entries(4, {{0, 2, 3000, 3}, {1, 3, 1000, 1}, {0, 1, 500, 5}}));
  const Network network = make_network({2, 2}, {1e9, 2e-6});
  const LayoutCost cost = cost_of_layout(network, traffic, {0, 0, 1, 1});
  CHECK(cost.bytes == 4000);
  CHECK(cost.messages == 4);
  CHECK(cost.share.value() == Approx(4000.0 / 4500));
  CHECK(cost.most == 4000);
  const double congestion = 4000 / 1e9 + 4 * 2e-6 / 2;
  const double locality = 4000 / (1e9 * 2) + 4 * 2e-6 / (2 * 2);
  CHECK(cost.seconds == Approx(congestion + locality));
}

TEST_CASE("nodes without ranks cost the same if the network leaves them out") {
  const Traffic traffic(random_matrix(8, 1));
  const Network all = make_network({4, 0, 4, 0, 0}, {}), used = make_network({4, 4}, {}, 3);
  const double expected = cost_of_layout(all, traffic, {0, 2, 0, 2, 0, 2, 0, 2}).seconds;
  CHECK(cost_of_layout(used, traffic, {0, 1, 0, 1, 0, 1, 0, 1}).seconds == Approx(expected));
}

TEST_CASE("the placed distribution is the cheapest of all for few ranks") {
  for (unsigned seed = 0; seed < 12; ++seed) {
    const std::vector<int> counts = seed % 2 == 0 ? std::vector{4, 4} : std::vector{3, 2, 3};
    const Traffic traffic(random_matrix(8, seed));
    const Network network = make_network(counts, {});
    const auto placed = placed_layout(network, traffic, 30);
    REQUIRE(placed);
    CAPTURE(seed);
    const double found = cost_of_layout(network, traffic, *placed).seconds;
    CHECK(found <= cheapest_of_all(network, traffic, block_layout(counts)) * 1.0001);
    CHECK(*placed_layout(network, traffic, 30) == *placed);
  }
}

TEST_CASE("the placed distribution never costs more than srun's distributions", "[costs]") {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const std::vector<int> counts = {16, 8, 24, 16};
    const Traffic traffic(random_matrix(64, seed));
    const Network network = make_network(counts, {});
    const auto placed = placed_layout(network, traffic, 30);
    REQUIRE(placed);
    std::vector<int> used(counts.size());
    for (const int node : *placed) ++used[node];
    CHECK(used == counts);
    const double found = cost_of_layout(network, traffic, *placed).seconds;
    for (const NodeOfRank& other :
         {block_layout(counts), cyclic_layout(counts), plane_layout(counts, 4)})
      CHECK(found <= cost_of_layout(network, traffic, other).seconds);
  }
}

TEST_CASE("more effort never places at a higher cost than the quick setting", "[costs]") {
  for (unsigned seed = 0; seed < 6; ++seed) {
    const Traffic traffic(random_matrix(48, seed));
    const Network network = make_network({16, 8, 16, 8}, {});
    const double quick =
        cost_of_layout(network, traffic, *placed_layout(network, traffic, 1)).seconds;
    CAPTURE(seed);
    for (const int effort : {2, 30}) {
      const auto placed = placed_layout(network, traffic, effort);
      REQUIRE(placed);
      CHECK(cost_of_layout(network, traffic, *placed).seconds <= quick);
    }
  }
}
