// SPDX-License-Identifier: Apache-2.0
#include "mapcore/place/mixed_layout.h"

#include <algorithm>

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

// Two groups of four ranks that talk in a ring, and little between the groups.
Traffic two_rings() {
  std::vector<MatrixEntry> entries = {{0, 4, 1, 1}};
  for (int i = 0; i < 8; ++i) entries.push_back({i, i / 4 * 4 + (i + 1) % 4, 1000, 1});
  return Traffic(CommMatrix::from_entries(8, entries));
}

std::vector<int> sorted(NodeOfRank layout) {
  std::sort(layout.begin(), layout.end());
  return layout;
}

}  // namespace

TEST_CASE("a mixture leaves ranks alone that both distributions have together") {
  const NodeOfRank first = {0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2};
  // Nodes 0, 1 and 2 of the first are called 2, 0 and 1; ranks 3 and 4 are exchanged.
  const NodeOfRank second = {2, 2, 2, 0, 2, 0, 0, 0, 1, 1, 1, 1};
  std::mt19937_64 random(1);
  bool exchanged = false;
  for (int turn = 0; turn < 20; ++turn) {
    NodeOfRank mixed = mixed_layout(first, second, 3, random);
    CHECK(sorted(mixed) == first);
    exchanged = exchanged || mixed[3] == 1;
    std::swap(mixed[3], mixed[4]);
    if (mixed[4] == 0) std::swap(mixed[3], mixed[4]);
    CHECK(std::equal(mixed.begin(), mixed.begin() + 3, first.begin()));
    CHECK(std::equal(mixed.begin() + 5, mixed.end(), first.begin() + 5));
  }
  CHECK(exchanged);
}

TEST_CASE("a mixture of equal distributions differs from both, and keeps the numbers of ranks") {
  const NodeOfRank first = block_layout({20, 10, 30});
  std::mt19937_64 random(1);
  const NodeOfRank mixed = mixed_layout(first, first, 3, random);
  CHECK(mixed != first);
  CHECK(sorted(mixed) == first);
}

TEST_CASE("two groups exchange their nodes as a whole") {
  const Traffic traffic = two_rings();
  const NodeOfRank layout = {0, 0, 0, 0, 1, 1, 1, 1};
  std::mt19937_64 random(1);
  int moved_pairs = 0;
  for (int turn = 0; turn < 40; ++turn) {
    const NodeOfRank exchanged = exchanged_layout(layout, traffic, random);
    CHECK(sorted(exchanged) == layout);
    const auto moved = std::count(exchanged.begin(), exchanged.begin() + 4, 1);
    CHECK(moved <= 2);
    if (moved != 2) continue;
    ++moved_pairs;
    // Two ranks that talk to each other: neighbours in the ring.
    CHECK((exchanged[0] != exchanged[2] || exchanged[1] != exchanged[3]));
    CHECK((exchanged[4] != exchanged[6] || exchanged[5] != exchanged[7]));
  }
  CHECK(moved_pairs > 0);
}

TEST_CASE("ranks of one node or of nodes with one rank do not exchange groups") {
  const Traffic traffic = two_rings();
  std::mt19937_64 random(1);
  const NodeOfRank together(8, 0), apart = {0, 1, 2, 3, 4, 5, 6, 7};
  CHECK(exchanged_layout(together, traffic, random) == together);
  CHECK(exchanged_layout(apart, traffic, random) == apart);
}
