// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/mpich_nodes.h"

#include <vector>

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

std::vector<int> layout(const char* text, bool cyclic, int tasks) {
  std::vector<int> nodes(static_cast<std::size_t>(tasks), -1);
  return nodes_of_layout(text, cyclic, tasks, nodes.data()) ? nodes : std::vector<int>{};
}

}  // namespace

TEST_CASE("Slurm's layout gives each rank its node") {
  CHECK(layout("2(x2),1", false, 5) == std::vector<int>{0, 0, 1, 1, 2});
  CHECK(layout("2(x2),1", true, 5) == std::vector<int>{0, 1, 2, 0, 1});
  CHECK(layout("3", false, 3) == std::vector<int>{0, 0, 0});
}

TEST_CASE("a layout of another number of tasks is refused") {
  for (const bool cyclic : {false, true})
    for (const char* text : {"", "2", "x", "0(x9)", "1(x2),"})
      CHECK(layout(text, cyclic, 3).empty());
  CHECK(layout("0(x4294967295)", false, 1).empty());
}
