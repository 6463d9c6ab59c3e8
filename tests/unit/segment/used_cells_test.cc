// SPDX-License-Identifier: Apache-2.0
#include "mapcore/segment/used_cells.h"

#include <algorithm>
#include <set>
#include <vector>

#include "mapcore/segment/peer_cells.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("marked cells are visited in order, and lie behind all else in the row") {
  for (const std::uint32_t local : {1U, 63U, 64U, 65U, 500U}) {
    for (const std::uint32_t world : {local, local + 1, 100000U}) {
      std::vector<ondeloc_cell> row(ondeloc_row_size(local, world) / sizeof(ondeloc_cell) + 1);
      const UsedCells used = used_cells_of(row.data(), local, world);
      const PeerCells peers = peer_cells_of(row.data(), local, world);
      CHECK(reinterpret_cast<char*>(used.words) ==
            reinterpret_cast<char*>(peers.keys + peers.count));
      CHECK(reinterpret_cast<std::uintptr_t>(used.words) % sizeof(std::uint64_t) == 0);
      std::vector<std::uint32_t> seen;
      used.each([&](std::uint32_t cell) { seen.push_back(cell); });
      CHECK(seen.empty());
      for (const std::uint32_t cell : {local - 1, local / 2, 0U, 0U}) used.mark(cell);
      used.each([&](std::uint32_t cell) { seen.push_back(cell); });
      CHECK(std::is_sorted(seen.begin(), seen.end()));
      CHECK(std::set<std::uint32_t>(seen.begin(), seen.end()) ==
            std::set<std::uint32_t>{0, local / 2, local - 1});
      CHECK(std::set<std::uint32_t>(seen.begin(), seen.end()).size() == seen.size());
    }
  }
}
