// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/file_of_node.h"

#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("a step on several nodes never writes two nodes into one file") {
  ondeloc_header header{};
  header.world_ranks = 8;
  header.local_ranks = 4;
  header.job_id = 5;
  CHECK(file_of_node("a-%j", header, "n7") == "a-5.n7");
  CHECK(file_of_node("a-%j-%N.prof", header, "n7") == "a-5-n7.prof");
  CHECK(file_of_node("100%%N", header, "n7") == "100%N.n7");
  header.local_ranks = 8;
  CHECK(file_of_node("a", header, "n7") == "a");
}
