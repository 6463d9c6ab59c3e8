// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "mapcore/map/coordinated/search.h"
#include "tests/unit/catch.h"
#include "tests/unit/map/case.h"

using namespace ondeloc;
using namespace ondeloc::coordinated;

namespace {

Part sweep(const Case& c) {
  RankGraph ranks(c.request());
  return sweep_start(ranks.view, ranks.rows, Target::from(c.request(), ranks.strength));
}

// Cost of a partition with each rank on the next free slot of its node.
double cost_of(const Case& c, const Part& part) {
  std::vector<bool> used(c.slots.size());
  Mapping mapping;
  for (const int node : part) {
    std::size_t slot = 0;
    while (used[slot] || c.slots[slot].node.value != node) ++slot;
    used[slot] = true;
    mapping.push_back(SlotIndex{static_cast<int>(slot)});
  }
  return c.cost(mapping).total;
}

struct Grid {
  int columns, rows;
  std::vector<int> rank_at;  // [row][column]
};

Grid grid_of(int columns, int rows, bool shuffled) {
  Grid grid{columns, rows, std::vector<int>(static_cast<std::size_t>(columns * rows))};
  std::iota(grid.rank_at.begin(), grid.rank_at.end(), 0);
  std::mt19937 random(1);
  if (shuffled) std::shuffle(grid.rank_at.begin(), grid.rank_at.end(), random);
  return grid;
}

CommMatrix traffic_of(const Grid& grid, double bytes = 1e6) {
  std::vector<MatrixEntry> entries;
  const auto link = [&](int a, int b) {
    const int i = grid.rank_at[a];
    const int j = grid.rank_at[b];
    entries.push_back({i, j, bytes, 1});
    entries.push_back({j, i, bytes, 1});
  };
  const int ranks = grid.columns * grid.rows;
  for (int at = 0; at < ranks; ++at) {
    if ((at + 1) % grid.columns != 0) link(at, at + 1);
    if (at + grid.columns < ranks) link(at, at + grid.columns);
  }
  return CommMatrix::from_entries(ranks, std::move(entries));
}

// across x down boxes of equal size.
Part boxes(const Grid& grid, int across, int down) {
  Part part(grid.rank_at.size());
  for (std::size_t at = 0; at < part.size(); ++at) {
    const int column = static_cast<int>(at) % grid.columns;
    const int row = static_cast<int>(at) / grid.columns;
    part[grid.rank_at[at]] = row * down / grid.rows * across + column * across / grid.columns;
  }
  return part;
}

}  // namespace

TEST_CASE("grids and chains come apart into boxes and pieces") {
  struct Shape {
    const char* machine;
    int columns, rows, across, down;
  };
  for (const Shape& s :
       {Shape{"numa:4 core:12 pu:1", 6, 6, 2, 2}, Shape{"numa:2 core:24 pu:1", 48, 1, 2, 1},
        Shape{"numa:4 core:8 pu:1", 32, 1, 4, 1}, Shape{"numa:4 core:24 pu:1", 8, 6, 2, 2}}) {
    for (const bool shuffled : {false, true}) {
      INFO(s.columns << " x " << s.rows << " shuffled " << shuffled);
      const Grid grid = grid_of(s.columns, s.rows, shuffled);
      const Case c(s.machine, traffic_of(grid));
      const double of_boxes = cost_of(c, boxes(grid, s.across, s.down));
      CHECK(cost_of(c, sweep(c)) <= of_boxes * (1 + 1e-9));
      CHECK(c.cost(c.map()).total <= of_boxes * (1 + 1e-9));
    }
  }
}

TEST_CASE("a sweep fills no node beyond its slots") {
  for (const char* machine : {"numa:2 core:16 pu:1", "numa:3 core:11 pu:1", "numa:5 core:9 pu:1",
                              "numa:1 core:40 pu:1"}) {
    for (const int ranks : {25, 31, 32}) {
      for (const double bytes : {1e-300, 1.0, 1e290}) {
        Grid pieces = grid_of(ranks, 1, true);
        CommMatrix matrix = traffic_of(pieces, bytes);
        std::erase_if(matrix.entries, [](const MatrixEntry& e) { return e.src + e.dst > 40; });
        const Case c(machine, matrix);
        INFO(machine << ", " << ranks << " ranks, " << bytes << " bytes");
        const Part part = sweep(c);
        if (part.empty()) continue;
        CHECK(part.size() == static_cast<std::size_t>(ranks));
        std::vector<int> left(static_cast<std::size_t>(c.model.nodes));
        for (const Slot& slot : c.slots) ++left[slot.node.value];
        for (const int node : part) CHECK(--left[node] >= 0);
      }
    }
  }
}

TEST_CASE("a graph that is not a grid is not swept") {
  std::vector<MatrixEntry> star;
  for (int i = 1; i < 32; ++i) star.push_back({i, 0, 1e6, 1});
  CHECK(sweep({"numa:2 core:16 pu:1", CommMatrix::from_entries(32, star)}).empty());
  std::vector<MatrixEntry> all;
  for (int i = 0; i < 32; ++i) {
    for (int j = 0; j < i; ++j) all.push_back({i, j, 1e6, 1});
  }
  CHECK(sweep({"numa:2 core:16 pu:1", CommMatrix::from_entries(32, all)}).empty());
  CHECK(sweep({"numa:2 core:16 pu:1", CommMatrix::from_entries(32, {})}).empty());
}
