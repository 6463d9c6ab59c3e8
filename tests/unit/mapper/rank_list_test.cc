// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/rank_list.h"

#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("a list of ranks has each rank once, in order, beyond the numbers of CPUs too") {
  RankList ranks;
  CHECK(ranks.empty());
  CHECK(ranks.to_list().empty());
  for (const int rank : {8193, 8191, kMaxWorldRank, 8192, 0, 8192, 100'000})
    ranks.add(WorldRank(rank));
  CHECK(ranks.count() == 6);
  CHECK(ranks.to_list() == "0,8191-8193,100000,16777215");
}
