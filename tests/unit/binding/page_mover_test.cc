// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/page_mover.h"

#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

constexpr int kNoNode = 1000;

// Steps to the end: pages that did not move.
Result<long> move_all(PageMover mover) {
  for (;;) {
    const auto step = mover.step();
    if (!step) return step.error();
    if (*step != PageMover::Step::kMoved) return mover.left();
  }
}

}  // namespace

// One node is enough for all but the moving itself, which tests/vm sees.
TEST_CASE("the kernel is asked piece by piece, and its errors are passed on", "[numa]") {
  const auto texts = read_page_texts(getpid());
  if (!texts) ONDELOC_SKIP("this kernel has no NUMA");
  PagesOnNode there = pages_on_node(texts->numa_maps, texts->maps, 0);
  constexpr std::uint64_t kMost = std::uint64_t{1} << 26;  // what sanitizers reserve is sparse
  std::erase_if(there.ranges,
                [](const PageRange& range) { return range.end - range.begin > kMost; });
  REQUIRE(!there.ranges.empty());
  const auto nobody = move_all(PageMover(getpid(), there, kNoNode, 0));
  REQUIRE(nobody.ok());
  CHECK(*nobody == 0);
  const auto nowhere = move_all(PageMover(getpid(), there, 0, kNoNode));
  REQUIRE(!nowhere.ok());
  CHECK(nowhere.error().message() == "move_pages: No such device");
  const auto gone = move_all(PageMover(-1, there, 0, 1));
  REQUIRE(!gone.ok());
  CHECK(gone.error().code() == ESRCH);
}

TEST_CASE("the bytes to move are those of the process alone on that node") {
  const PagesOnNode there{{{0x1000, 0x9000, 0x3000, false}, {0x10000, 0x20000, 0x5000, true}}};
  const PageMover mover(1, there, 0, 1);
  CHECK(mover.bytes() == 0x5000);
  CHECK(mover.bytes_at_first() == 0x5000);
  CHECK(mover.left() == 0);
}

TEST_CASE("a node number that does not exist is an error, as source and as target") {
  CHECK(!PageMover(getpid(), PagesOnNode{}, -1, 0).step().ok());
  CHECK(!PageMover(getpid(), PagesOnNode{}, 0, 1 << 20).step().ok());
}

TEST_CASE("if a policy interleaves, memory that is reserved and not used stays") {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
  PagesOnNode there{{{kGib, 200 * kGib, kGib, true}}, true};
  PageMover mover(getpid(), there, 0, 1);
  CHECK(mover.interleaved());
  CHECK(mover.bytes() == 0);
  const auto step = mover.step();
  REQUIRE(step.ok());
  CHECK(*step == PageMover::Step::kDone);
}

TEST_CASE("a process that has ended but is not reaped counts as gone") {
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  siginfo_t info;
  REQUIRE(waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOWAIT) == 0);
  const PagesOnNode there{{{0x10000000, 0x10010000, 4096, true}}};
  const auto gone = move_all(PageMover(pid, there, 0, 1));
  REQUIRE(waitpid(pid, nullptr, 0) == pid);
  REQUIRE(!gone.ok());
  CHECK(gone.error().code() == ESRCH);
}
