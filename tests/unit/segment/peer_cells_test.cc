// SPDX-License-Identifier: Apache-2.0
#include "mapcore/segment/peer_cells.h"

#include <algorithm>
#include <map>
#include <thread>
#include <vector>

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

// A row of a step of two local ranks, with the cells of ranks off the node.
struct Row {
  explicit Row(std::uint32_t world_ranks)
      : cells(ondeloc_row_size(2, world_ranks) / sizeof(ondeloc_cell) + 1),
        peers(peer_cells_of(cells.data(), 2, world_ranks)) {}
  std::vector<ondeloc_cell> cells;
  PeerCells peers;
};

}  // namespace

TEST_CASE("a step on one node has no cells of ranks off the node") {
  CHECK(ondeloc_peer_cells(8, 8) == 0);
  CHECK(ondeloc_row_size(8, 8) == 18 * sizeof(ondeloc_cell) + sizeof(std::uint64_t));
  Row row(2);
  CHECK(row.peers.claim(1) == 0);  // as many as there are cells: no place
  CHECK(row.peers.count == 0);
}

TEST_CASE("every rank of a world that is not too large has a cell") {
  for (const std::uint32_t world : {3U, 8U, 100U, 1024U}) {
    Row row(world);
    for (std::uint32_t rank = world; rank-- > 0;) CHECK(row.peers.claim(rank) == rank);
    std::uint32_t seen = 0;
    row.peers.each([&](std::uint32_t rank, std::uint32_t at) { seen += rank == at ? 1 : 0; });
    CHECK(seen == world);
  }
}

TEST_CASE("ranks that want the same cell get others, and keep them") {
  Row row(1 << 20);
  REQUIRE(row.peers.count == 1024);
  std::map<std::uint32_t, std::uint32_t> of_rank;
  for (std::uint32_t k = 0; k < 64; ++k) of_rank[5 + 1024 * k] = row.peers.claim(5 + 1024 * k);
  for (const auto& [rank, at] : of_rank) {
    CHECK(at < 1024);
    CHECK(row.peers.claim(rank) == at);
    CHECK(row.peers.keys[at] == rank + 1);
  }
  CHECK(row.peers.claim(5 + 1024 * 64) == 1024);  // too far from its place
  CHECK(row.peers.claim(500) == 500);
}

TEST_CASE("threads that claim the same ranks at once agree") {
  Row row(1 << 20);
  std::vector<std::vector<std::uint32_t>> got(4);
  std::vector<std::thread> threads;
  for (std::vector<std::uint32_t>& mine : got)
    threads.emplace_back([&] {
      for (std::uint32_t rank = 0; rank < 3000; rank += 3) mine.push_back(row.peers.claim(rank));
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& mine : got) CHECK(mine == got[0]);
  std::vector<std::uint32_t> used;
  for (const std::uint32_t at : got[0])
    if (at < 1024) used.push_back(at);
  std::sort(used.begin(), used.end());
  CHECK(std::adjacent_find(used.begin(), used.end()) == used.end());
  CHECK(used.size() > 900);
}
