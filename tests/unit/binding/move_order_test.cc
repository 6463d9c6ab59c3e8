// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/move_order.h"

#include <vector>

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

CpuSet mask(const char* list) { return *CpuSet::parse_list(list); }

std::vector<pid_t> order(std::vector<MaskChange> changes, int here, int cpu) {
  CHECK(order_changes(changes, here) == cpu);
  std::vector<pid_t> tids;
  for (const MaskChange& change : changes) tids.push_back(change.tid);
  return tids;
}

}  // namespace

TEST_CASE("the caller's CPU is freed first, and gets a thread last") {
  const std::vector<MaskChange> exchange = {{1, mask("2"), mask("4"), 0},
                                            {2, mask("3"), mask("5"), 1},
                                            {3, mask("4"), mask("2"), 2},
                                            {4, mask("5"), mask("3"), 3}};
  CHECK(order(exchange, 4, 4) == std::vector<pid_t>{3, 2, 4, 1});
  CHECK(order(exchange, 2, 2) == std::vector<pid_t>{1, 2, 4, 3});
}

TEST_CASE("a caller beside ranks that stay goes to a CPU that the first change frees") {
  const std::vector<MaskChange> cycle = {
      {1, mask("0"), mask("1"), 0}, {2, mask("1"), mask("2"), 1}, {3, mask("2"), mask("0"), 2}};
  CHECK(order(cycle, 7, 0) == std::vector<pid_t>{1, 2, 3});
  CHECK(order(cycle, -1, 0) == std::vector<pid_t>{1, 2, 3});
}

TEST_CASE("threads of slots with several CPUs, and masks that only grow") {
  CHECK(order({{1, mask("0-3"), mask("4-7"), 0},
               {2, mask("0-3"), mask("4-7"), 0},
               {3, mask("4-7"), mask("0-3"), 1}},
              5, 5) == std::vector<pid_t>{3, 1, 2});
  CHECK(order({{1, mask("0"), mask("0-1"), 0}}, 0, -1) == std::vector<pid_t>{1});
  CHECK(order({}, 0, -1).empty());
}
