// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/ranks.h"

#include <sys/syscall.h>

#include <cerrno>
#include <thread>

#include "tests/unit/catch.h"
#include "tests/unit/step/forbid_call.h"
#include "tests/unit/step/waiting_ranks.h"

using namespace ondeloc;

namespace {

const std::vector<std::vector<std::uint64_t>> kTwoMasks = {{1}, {1}};

}  // namespace

TEST_CASE("a process that does not belong to its task is looked up once", "[proc-io]") {
  const WaitingRanks waiting(kTwoMasks, getpid());
  Ranks ranks(2);
  if (reads_so_far() < 0) ONDELOC_SKIP("this kernel does not count reads");
  const long first = reads_in([&] { ranks.refresh(waiting.view()); });
  for (const RankState& state : ranks.all()) CHECK(state.refused);
  CHECK(!ranks.any_attached());
  const long again = reads_in([&] { ranks.refresh(waiting.view()); });
  CHECK(again == 0);
  CHECK(first > 0);
}

TEST_CASE("poll is not asked to wait for ranks without a pidfd") {
  const WaitingRanks waiting(kTwoMasks);
  bool forbidden = false;
  std::vector<pollfd> fds;
  std::thread mapper([&] {
    forbidden = forbid_call(SYS_pidfd_open, ENOSYS);
    Ranks ranks(2);
    ranks.refresh(waiting.view());
    CHECK(ranks.any_attached());
    ranks.add_to_poll(fds);
    CHECK(!ranks.note_ended(fds));
  });
  mapper.join();
  REQUIRE(forbidden);
  CHECK(fds.empty());
}

// The number of entries that poll(2) was given for three ranks, one of which ended.
static std::size_t entries_when_one_ends() {
  const WaitingRanks waiting({{1}, {1}, {1}});
  Ranks ranks(3);
  ranks.refresh(waiting.view());
  std::vector<pollfd> fds = {{-1, POLLIN, 0}};  // as the mapper's channel before them
  ranks.add_to_poll(fds);
  CHECK(poll(fds.data(), fds.size(), 0) == 0);
  CHECK(!ranks.note_ended(fds));
  kill(waiting.pid(1), SIGKILL);
  CHECK(poll(fds.data(), fds.size(), -1) == 1);
  CHECK(ranks.note_ended(fds));
  CHECK(!ranks.all()[0].ended);
  CHECK(ranks.all()[1].ended);
  CHECK(!ranks.all()[2].ended);
  const std::size_t entries = fds.size() - 1;
  fds.clear();
  ranks.add_to_poll(fds);
  CHECK(poll(fds.data(), fds.size(), 0) == 0);  // who has ended does not wake anybody again
  CHECK(!ranks.note_ended(fds));
  return entries;
}

TEST_CASE("the rank whose pidfd is readable has ended, and no other") {
  CHECK(entries_when_one_ends() == 1);
}

TEST_CASE("without epoll every rank is polled") {
  bool forbidden = false;
  std::thread mapper([&] {
    forbidden = forbid_call(SYS_epoll_create1, EPERM);
    CHECK(entries_when_one_ends() == 3);
  });
  mapper.join();
  REQUIRE(forbidden);
}
