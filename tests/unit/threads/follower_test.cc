// SPDX-License-Identifier: Apache-2.0
#include "mapcore/threads/plugin/follower.h"

#include "mapcore/threads/plugin/instruction.h"
#include "tests/unit/catch.h"

using namespace ondeloc_threads;

namespace {

struct Followed {
  explicit Followed(const FollowerSettings& settings = {})
      : counts(new SharedCounts()), follower(settings, *counts) {}
  std::uint64_t lines(unsigned from, unsigned to) const {
    return counts->thread[to].lines_from[from].load();
  }
  std::unique_ptr<SharedCounts> counts;
  Follower follower;
};

}  // namespace

TEST_CASE("a read after the write of another thread is a line from that thread") {
  Followed run;
  run.follower.access(0, 0x1000, 8, Access::kWrite);
  run.follower.access(1, 0x1038, 8, Access::kRead);  // another word of the line
  run.follower.access(1, 0x1000, 8, Access::kRead);
  CHECK(run.lines(0, 1) == 1);
  CHECK(run.lines(1, 0) == 0);
  CHECK(run.counts->thread[0].accessed.load() == 8);
  CHECK(run.counts->thread[1].accessed.load() == 16);
}

TEST_CASE("an access that crosses the end of a line touches both lines") {
  Followed run;
  run.follower.access(0, 0x103C, 8, Access::kWrite);
  run.follower.access(1, 0x1000, 4, Access::kRead);
  run.follower.access(1, 0x1040, 4, Access::kRead);
  CHECK(run.lines(0, 1) == 2);
}

TEST_CASE("an atomic exchange reads and writes") {
  Followed run;
  for (int turn = 0; turn < 3; ++turn)
    for (unsigned thread = 0; thread < 2; ++thread)
      run.follower.access(thread, 0x1000, 4, Access::kExchange);
  CHECK(run.lines(0, 1) == 3);
  CHECK(run.lines(1, 0) == 2);
}

TEST_CASE("a stream misses the modelled cache, a small working set does not") {
  Followed run({.llc_bytes = 1U << 20});
  for (int round = 0; round < 4; ++round)
    for (std::uint64_t at = 0; at < 1U << 18; at += 8) run.follower.access(0, at, 8, Access::kRead);
  for (int round = 0; round < 4; ++round)
    for (std::uint64_t at = 0; at < 1U << 24; at += 64)
      run.follower.access(1, at, 8, Access::kRead);
  CHECK(run.counts->thread[0].beyond_llc.load() == (1U << 18) / 64);
  CHECK(run.counts->thread[1].beyond_llc.load() > 4 * ((1U << 24) / 64) * 9 / 10);
}

TEST_CASE("a sample follows the same lines for all threads") {
  Followed run({.sample = 8});
  constexpr std::uint64_t kLines = 1U << 16;
  for (std::uint64_t line = 0; line < kLines; ++line) {
    run.follower.access(0, line * 64, 8, Access::kWrite);
    run.follower.access(1, line * 64, 8, Access::kRead);
  }
  CHECK(run.lines(0, 1) > kLines / 8 * 9 / 10);
  CHECK(run.lines(0, 1) < kLines / 8 * 11 / 10);
  CHECK(run.counts->thread[1].accessed.load() == kLines * 8);  // exact
}

TEST_CASE("atomic instructions are known by their bytes") {
  CHECK(is_atomic({0xf0, 0x48, 0x0f, 0xc1, 0x07}));  // lock xadd
  CHECK(is_atomic({0x87, 0x07}));                    // xchg
  CHECK(is_atomic({0x66, 0xf0, 0xff, 0x00}));
  CHECK_FALSE(is_atomic({0x48, 0x01, 0x07}));  // add [rdi], rax
}
