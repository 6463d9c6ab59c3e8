// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/node_pairs.h"

#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

using Nodes = std::vector<int>;
using Pairs = std::vector<NodePair>;

}  // namespace

TEST_CASE("the nodes of a slot are those of all its PUs") {
  const Machine machine = *load_machine("numa:4 core:2 pu:1");
  CHECK(nodes_under(machine, *CpuSet::parse_list("0-3")) == Nodes{0, 1});
  CHECK(nodes_under(machine, *CpuSet::parse_list("1,7")) == Nodes{0, 3});
  CHECK(nodes_under(machine, CpuSet()).empty());
}

TEST_CASE("PUs without a NUMA node have no pages of their own to move") {
  Machine machine = *load_machine("numa:2 core:2 pu:1");
  machine.nodes[0].os = -1;
  CHECK(nodes_under(machine, *CpuSet::parse_list("0-3")) == Nodes{1});
}

TEST_CASE("pages of every node that a rank left go to a node of its own") {
  CHECK(node_pairs(Nodes{0}, Nodes{1}) == Pairs{{0, 1}});
  CHECK(node_pairs(Nodes{0, 1}, Nodes{2, 3}) == Pairs{{0, 2}, {1, 3}});
  CHECK(node_pairs(Nodes{0, 1, 2}, Nodes{4, 5}) == Pairs{{0, 4}, {1, 5}, {2, 4}});
  CHECK(node_pairs(Nodes{0}, Nodes{2, 3}) == Pairs{{0, 2}});
}

TEST_CASE("pages on a node that a rank keeps stay there") {
  CHECK(node_pairs(Nodes{0, 1}, Nodes{0, 1}).empty());
  CHECK(node_pairs(Nodes{0, 1}, Nodes{1, 2}) == Pairs{{0, 2}});
  CHECK(node_pairs(Nodes{0}, Nodes{0, 1}).empty());
  CHECK(node_pairs(Nodes{0, 1, 2}, Nodes{1}) == Pairs{{0, 1}, {2, 1}});
  CHECK(node_pairs(Nodes{0}, Nodes{}).empty());
  CHECK(node_pairs(Nodes{}, Nodes{0}).empty());
}
