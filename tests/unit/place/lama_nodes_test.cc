// SPDX-License-Identifier: Apache-2.0
#include "mapcore/place/lama_nodes.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

std::vector<NodeThread> placed(const std::vector<Machine>& machines, const std::string& layout,
                               int ranks) {
  std::vector<const Machine*> nodes;
  for (const Machine& machine : machines) nodes.push_back(&machine);
  const auto threads = lama_over_nodes(nodes, layout, ranks);
  INFO((threads ? "" : threads.error().message()));
  REQUIRE(threads.ok());
  return *threads;
}

// The node of each rank as a text, such as "0011".
std::string nodes_of(const std::vector<NodeThread>& threads) {
  std::string text;
  for (const NodeThread& thread : threads) text += std::to_string(thread.node);
  return text;
}

}  // namespace

TEST_CASE("scbnh places 24 ranks on two nodes as figure 2 of the paper shows") {
  // Two nodes of two sockets of three cores of two threads; thread t of core c of socket s has the
  // number 6 s + 2 c + t.
  const Machine node = *load_machine("package:2 core:3 pu:2");
  const auto threads = placed({node, node}, "scbnh", 24);
  REQUIRE(threads.size() == 24);
  for (int rank = 0; rank < 24; ++rank) {
    const int socket = rank % 2, core = rank / 2 % 3, host = rank / 6 % 2, thread = rank / 12;
    CAPTURE(rank);
    CHECK(threads[static_cast<std::size_t>(rank)] ==
          NodeThread{host, PuOs(6 * socket + 2 * core + thread)});
  }
}

TEST_CASE("the place of n in a layout says when the next node comes") {
  const Machine node = *load_machine("package:2 core:2 pu:1");
  CHECK(nodes_of(placed({node, node}, "nsch", 8)) == "01010101");
  CHECK(nodes_of(placed({node, node}, "schn", 8)) == "00001111");
  CHECK(nodes_of(placed({node, node}, "snch", 8)) == "00110011");
  // A node is filled as if it were alone, rank for rank.
  const auto both = placed({node, node}, "schn", 8), one = placed({node}, "schn", 4);
  CHECK(std::equal(one.begin(), one.end(), both.begin()));
}

TEST_CASE("a layout skips what one of different nodes lacks") {
  const Machine large = *load_machine("package:2 core:3 pu:2"),
                small = *load_machine("core:2 pu:1");
  const auto threads = placed({small, large}, "nsch", 8);
  CHECK(nodes_of(threads) == "01101111");
  const auto all = placed({small, large}, "schn", 14);
  std::set<std::pair<int, int>> seen;
  for (const NodeThread& thread : all) seen.emplace(thread.node, thread.pu.value);
  CHECK(seen.size() == 14);
  CHECK(nodes_of(all) == "00111111111111");
}

TEST_CASE("a limit holds for each object of each node") {
  const Machine node = *load_machine("package:2 core:4 pu:1");
  CHECK(nodes_of(placed({node, node}, "csnh/mppr=1:s", 4)) == "0011");
  CHECK(nodes_of(placed({node, node}, "csnh/mppr=3:n", 6)) == "000111");
}

TEST_CASE("more ranks than threads and a wrong layout are refused") {
  const Machine node = *load_machine("core:2 pu:1");
  const std::vector<const Machine*> nodes{&node, &node};
  CHECK_FALSE(lama_over_nodes(nodes, "nch", 5).ok());
  CHECK_FALSE(lama_over_nodes(nodes, "sc", 2).ok());
  const Machine wide = *load_machine("core:1024 pu:1");
  const std::vector<const Machine*> many(9, &wide);
  const auto refused = lama_over_nodes(many, "nch", 5);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("9216 hardware threads") != std::string::npos);
}
