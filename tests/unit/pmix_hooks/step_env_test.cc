// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/step_env.h"

#include <string>

#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("the words of the plugin are read") {
  StepEnv step;
  REQUIRE(parse_step_env(
      "v1 fd=12 transport=pmix interval_ms=250 local_ranks=4 world_ranks=8 job=17 step=3 "
      "moves=1 set=asan",
      step));
  CHECK(step.fd == 12);
  CHECK(step.transport == RankTransport::kPmix);
  CHECK(step.interval_ms == 250);
  CHECK(step.local_ranks == 4);
  CHECK(step.world_ranks == 8);
  CHECK(step.job == 17);
  CHECK(step.step == 3);
  CHECK(step.moves == 1);
}

TEST_CASE("unknown words and bad numbers are skipped") {
  StepEnv step;
  REQUIRE(
      parse_step_env("v1 fd= fd=-3 fd=99999999999 fd=5x job=4294967296 color=red  jobs=3 =", step));
  CHECK(step.fd == -1);
  CHECK(step.job == 0);
  CHECK(step.transport == RankTransport::kAuto);
}

TEST_CASE("other versions and nothing at all are refused") {
  StepEnv step;
  CHECK(!parse_step_env(nullptr, step));
  for (const char* text : {"", "v2 fd=3", "v11 fd=3", "fd=3"}) CHECK(!parse_step_env(text, step));
}
