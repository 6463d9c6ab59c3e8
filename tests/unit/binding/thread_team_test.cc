// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/thread_team.h"

#include <unistd.h>

#include <deque>
#include <span>
#include <vector>

#include "mapcore/binding/affinity.h"
#include "tests/unit/binding/worker.h"
#include "tests/unit/catch.h"

// The runtime of ThreadSanitizer starts a thread of its own with the program's first one, so these
// cases are not for it. Nor are they for AddressSanitizer: its tests run at idle priority beside
// others, where threads that compute may get no CPU.
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define ONDELOC_WITH_ASAN
#endif
#endif
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__) && !defined(ONDELOC_WITH_ASAN)
namespace thread_team_test {
using namespace ondeloc;

namespace {

// The CPUs of this process; its team gets one CPU each.
struct Slot {
  CpuSet all = *get_affinity(0);
  std::vector<PuOs> list = all.to_vector();
  bool reversed = false;

  std::vector<CpuSet> seats(std::size_t threads) const {
    std::vector<CpuSet> seats;
    for (std::size_t i = 0; i < threads && threads <= list.size(); ++i)
      seats.push_back(one_cpu(list[reversed ? list.size() - 1 - i : i]));
    return seats;
  }
  bool look(ThreadTeam& team, bool again = false) const {
    return team.look(
        getpid(), all, [this](std::span<const PuOs> last) { return seats(last.size()); }, again);
  }
  // Looks until the condition holds; on a loaded machine a thread may wait long for its CPU.
  template <typename Condition>
  bool look_until(ThreadTeam& team, Condition condition) const {
    for (int i = 0; i < 400 && !condition(); ++i) {
      usleep(150'000);
      look(team);
    }
    return condition();
  }
};

bool is_bound(const ThreadTeam& team) { return team.state() == TeamState::kBound; }

}  // namespace

TEST_CASE("threads that compute get seats in the order of their creation, others stay free",
          "[cpus]") {
  Slot slot;
  if (slot.list.size() < 2) ONDELOC_SKIP("needs two CPUs");
  ThreadTeam team;
  const Worker helper(Does::kSleeps), first(Does::kComputes), second(Does::kComputes);
  CHECK(slot.look_until(team, [&] { return is_bound(team); }));
  CHECK(first.cpus() == one_cpu(slot.list[0]));
  CHECK(second.cpus() == one_cpu(slot.list[1]));
  CHECK(helper.cpus() == slot.all);
  CHECK(*get_affinity(0) == slot.all);
  CHECK(team.seats() == slot.seats(2));

  // Nothing is set again unless it is asked for.
  slot.reversed = true;
  usleep(150'000);
  CHECK_FALSE(slot.look(team));
  bool set = false;
  for (int i = 0; i < 200 && !set; ++i, usleep(150'000)) set = slot.look(team, true);
  CHECK(first.cpus() == one_cpu(slot.list.back()));
}

TEST_CASE("a thread that a bound thread has created becomes free", "[cpus]") {
  const Slot slot;
  if (slot.list.size() < 2) ONDELOC_SKIP("needs two CPUs");
  ThreadTeam team;
  const Worker first(Does::kComputes), second(Does::kComputes);
  CHECK(slot.look_until(team, [&] { return is_bound(team); }));
  // The thread `late` gets the mask that it would inherit from the first thread.
  REQUIRE(set_affinity(0, first.cpus()).ok());
  const Worker late(Does::kSleeps);
  REQUIRE(set_affinity(0, slot.all).ok());
  CHECK(late.cpus() == first.cpus());
  slot.look(team);
  CHECK(late.cpus() == slot.all);
  CHECK(first.cpus() == one_cpu(slot.list[0]));
}

TEST_CASE("threads that the program binds are left alone, and so are the others", "[cpus]") {
  const Slot slot;
  if (slot.list.size() < 2) ONDELOC_SKIP("needs two CPUs");
  ThreadTeam team;
  const Worker first(Does::kComputes), second(Does::kComputes);
  SECTION("before the team is bound") {
    REQUIRE(set_affinity(second.tid(), one_cpu(slot.list[0])).ok());
  }
  SECTION("afterwards") {
    CHECK(slot.look_until(team, [&] { return is_bound(team); }));
    REQUIRE(set_affinity(second.tid(), one_cpu(slot.list[0])).ok());
  }
  CHECK(slot.look_until(team, [&] { return team.state() == TeamState::kOwnBinding; }));
  CHECK(first.cpus() == slot.all);
  CHECK(second.cpus() == one_cpu(slot.list[0]));
  CHECK(team.seats().empty());
}

TEST_CASE("more threads than CPUs stay free, and get seats when enough have ended", "[cpus]") {
  const Slot slot;
  if (slot.list.size() < 2) ONDELOC_SKIP("needs two CPUs");
  ThreadTeam team;
  std::deque<Worker> workers;
  for (std::size_t i = 0; i <= slot.list.size(); ++i) workers.emplace_back(Does::kComputes);
  CHECK(slot.look_until(team, [&] { return team.state() == TeamState::kTooMany; }));
  for (const Worker& worker : workers) CHECK(worker.cpus() == slot.all);
  while (workers.size() > 2) workers.pop_back();
  CHECK(slot.look_until(team, [&] { return is_bound(team); }));
  CHECK(workers[1].cpus() == one_cpu(slot.list[1]));
}

TEST_CASE("the seats are taken back if threads come and go", "[cpus]") {
  const Slot slot;
  if (slot.list.size() < 2) ONDELOC_SKIP("needs two CPUs");
  ThreadTeam team;
  const Worker first(Does::kComputes), second(Does::kComputes);
  CHECK(slot.look_until(team, [&] { return is_bound(team); }));
  const auto comes_and_goes = [&] {
    const Worker brief(Does::kComputes);
    usleep(200'000);
    return team.state() == TeamState::kUnsteady;
  };
  CHECK(slot.look_until(team, comes_and_goes));
  CHECK(first.cpus() == slot.all);
  CHECK(second.cpus() == slot.all);
}

TEST_CASE("a process that is gone has no team") {
  ThreadTeam team;
  const Slot slot;
  for (int i = 0; i < 3; ++i)
    CHECK_FALSE(team.look(
        1 << 30, slot.all, [](std::span<const PuOs>) { return std::vector<CpuSet>(); }, false));
  CHECK(team.state() == TeamState::kAlone);
}

}  // namespace thread_team_test
#endif
