// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/binder.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <thread>

#include "mapcore/binding/affinity.h"
#include "mapcore/binding/proc.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

CpuSet cpus(const char* list) { return *CpuSet::parse_list(list); }

}  // namespace

TEST_CASE("a mask keeps its relative place") {
  CHECK(relocate_mask(cpus("0-3"), cpus("0-3"), cpus("8-11")) == cpus("8-11"));
  CHECK(relocate_mask(cpus("1"), cpus("0-3"), cpus("8-11")) == cpus("9"));
  CHECK(relocate_mask(cpus("1,3"), cpus("0-3"), cpus("8-11")) == cpus("9,11"));
  CHECK(relocate_mask(cpus("6"), cpus("0-7"), cpus("8-11")) == cpus("10"));
  CHECK(relocate_mask(cpus("5"), cpus("0-3"), cpus("8-11")).empty());
  CHECK(relocate_mask(cpus("0-7"), cpus("0-3"), cpus("8-11")).empty());
}

TEST_CASE("processes exchange their CPUs, and one with an empty slot stays") {
  const CpuSet all = *get_affinity(0);
  const auto list = all.to_vector();
  CpuSet first, second;
  first.set(list.front());
  second.set(list.back());
  std::vector<pid_t> children;
  for (const CpuSet& mask : {first, second, first}) {
    children.push_back(fork());
    if (children.back() == 0) {
      for (;;) pause();
    }
    REQUIRE(set_affinity(children.back(), mask).ok());
  }
  const auto results = move_processes(std::vector<ProcessMove>{
      {children[0], first, second}, {children[1], second, first}, {children[2], first, {}}});
  CHECK(*get_affinity(children[0]) == second);
  CHECK(*get_affinity(children[1]) == first);
  CHECK(*get_affinity(children[2]) == first);
  CHECK(*get_affinity(0) == all);
  REQUIRE(results.size() == 3);
  CHECK(results[2].threads == 0);
  for (const pid_t child : children) kill(child, SIGKILL);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
}

TEST_CASE("all threads of a process move, with real masks", "[cpus]") {
  const CpuSet all = *get_affinity(0);
  if (all.count() < 2) ONDELOC_SKIP("one CPU only: masks cannot differ here");
  const auto list = all.to_vector();
  CpuSet first, second;
  first.set(list[0]);
  second.set(list[1]);
  int runs[2];
  REQUIRE(pipe(runs) == 0);
  const pid_t child = fork();
  if (child == 0) {
    std::atomic<bool> never{false};
    const auto run = [&] {
      if (write(runs[1], "r", 1) == 1) never.wait(false);
    };
    std::thread one(run), two(run);
    run();
    _exit(0);
  }
  for (int thread = 0; thread < 3; ++thread) {
    char byte;
    REQUIRE(read(runs[0], &byte, 1) == 1);
  }
  // Three, and those that a sanitizer runs.
  const auto threads = static_cast<int>(read_threads(child).size());
  CHECK((kThreadSanitizer ? threads >= 3 : threads == 3));
  const BindResult there = move_process(child, all, first);
  CHECK(there.threads == threads);
  CHECK(there.moved == threads);
  const BindResult back = move_process(child, first, second);
  CHECK(back.moved == threads);
  for (const pid_t tid : read_threads(child)) CHECK(*get_affinity(tid) == second);
  CHECK(move_process(child, first, second).moved == 0);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  CHECK(move_process(child, second, first).threads == 0);
  for (const int end : runs) close(end);
}

TEST_CASE("a thread that has the new mask already keeps it, also inside the old one", "[cpus]") {
  const CpuSet all = *get_affinity(0);
  if (all.count() < 2) ONDELOC_SKIP("one CPU only: masks cannot differ here");
  CpuSet last;  // by its place in `all` it would go to the first CPU of the new slot
  last.set(all.to_vector().back());
  CpuSet pair = last;
  pair.set(all.to_vector()[all.to_vector().size() - 2]);
  for (const CpuSet& slot : {last, pair}) {
    int runs[2];
    REQUIRE(pipe(runs) == 0);
    const pid_t child = fork();
    if (child == 0) {
      if (write(runs[1], "r", 1) != 1) _exit(1);
      for (;;) pause();
    }
    char byte = 0;
    REQUIRE(read(runs[0], &byte, 1) == 1);
    for (const int end : runs) close(end);
    // A sanitizer's own thread is there by now.
    for (const pid_t tid : read_threads(child)) REQUIRE(set_affinity(tid, slot).ok());
    const BindResult result = move_process(child, all, slot);
    CHECK(*get_affinity(child) == slot);
    CHECK(result.moved == 0);
    CHECK(result.left_alone == 0);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

TEST_CASE("a thread that the kernel gave the whole cpuset moves with its process", "[cpus]") {
  const CpuSet all = *get_affinity(0);
  if (all.count() < 2) ONDELOC_SKIP("one CPU only: masks cannot differ here");
  CpuSet slot;
  slot.set(all.to_vector().back());
  const pid_t child = fork();
  if (child == 0) {
    for (;;) pause();
  }
  REQUIRE(set_affinity(child, all).ok());
  CHECK(move_processes(std::vector<ProcessMove>{{child, slot, slot}}).front().left_alone > 0);
  CHECK(*get_affinity(child) == all);
  CHECK(move_processes(std::vector<ProcessMove>{{child, slot, slot, all}}).front().moved > 0);
  CHECK(*get_affinity(child) == slot);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST_CASE("after a change of the cpuset, threads are moved from the rest of their process's slot") {
  const auto set = [](const char* list) { return *CpuSet::parse_list(list); };
  // One thread on each core, each with the rest of its mask: the main thread's mask is not the
  // slot.
  const CpuSet slot = left_of_slot(set("4-7"), set("0-7"), set("4"));
  CHECK(slot == set("4-7"));
  CHECK(relocate_mask(set("5"), slot, set("0-3")) == set("1"));
  CHECK(left_of_slot(set("4-7"), set("0-5"), set("4-5")) == set("4-5"));
  CHECK(left_of_slot(set("4-7"), set("0-5"), set("0-5")) == set("0-5"));  // before Linux 6.2
  CHECK(left_of_slot(set("4-7"), set("0-3"), set("0-3")) == set("0-3"));  // nothing is left
}
