// SPDX-License-Identifier: Apache-2.0
// If several mappings cost the same, coordinated takes one that moves few ranks.
#include "tests/unit/catch.h"
#include "tests/unit/map/case.h"

using namespace ondeloc;

namespace few_moves_test {
namespace {

// Every rank talks to the other ranks of its group of consecutive ranks.
CommMatrix groups(int ranks, int size) {
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < ranks; ++i)
    for (int j = i / size * size; j < (i / size + 1) * size; ++j)
      if (i != j) entries.push_back({i, j, 1e5, 10});
  return CommMatrix::from_entries(ranks, entries);
}

int moved(const Mapping& before, const Mapping& after) {
  int ranks = 0;
  for (std::size_t i = 0; i < before.size(); ++i) ranks += before[i] == after[i] ? 0 : 1;
  return ranks;
}

}  // namespace

TEST_CASE("from scattered ranks as few move as bring each group together") {
  struct Example {
    const char* machine;
    int ranks, size, moves;
  };
  for (const Example& each :
       {Example{"package:2 numa:1 l3:4 core:4 pu:1", 32, 2, 16},
        Example{"package:2 numa:1 l3:4 core:4 pu:1", 32, 4, 16},
        Example{"package:2 numa:1 l3:8 core:8 pu:1", 128, 2, 64},
        Example{"package:2 numa:1 l3:8 core:8 pu:1", 128, 8, 64},
        Example{"numa:4 core:16 pu:1", 64, 2, 32}, Example{"numa:8 core:16 pu:1", 128, 2, 64}}) {
    INFO(each.machine << ", groups of " << each.size);
    Case c(each.machine, groups(each.ranks, each.size));
    c.previous = c.map("scatter");
    const Mapping mapping = c.map();
    CHECK(c.cost(mapping).locality == 0);
    CHECK(moved(c.previous, mapping) == each.moves);
  }
}

TEST_CASE("two ranks in each other's place are the only ones that move, in any order of caches") {
  Case c("package:2 numa:1 l3:4 core:4 pu:1", groups(32, 4));
  const int cache_of_group[] = {3, 6, 0, 5, 7, 1, 4, 2};
  for (int i = 0; i < 32; ++i) c.previous.emplace_back(cache_of_group[i / 4] * 4 + i % 4);
  CHECK(c.map() == c.previous);
  std::swap(c.previous[0], c.previous[17]);
  const Mapping repaired = c.map();
  CHECK(c.cost(repaired).locality == 0);
  CHECK(moved(c.previous, repaired) == 2);
}

}  // namespace few_moves_test
