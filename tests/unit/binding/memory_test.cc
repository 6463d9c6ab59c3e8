// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/memory.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/binding/fake_root.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("a node has room where memory is free or the file cache is clean") {
  const char* meminfo =
      "Node 1 MemTotal:        1500000 kB\n"
      "Node 1 MemFree:           20000 kB\n"
      "Node 1 Active(file):     300000 kB\n"
      "Node 1 Inactive(file):   900000 kB\n"
      "Node 1 Dirty:             50000 kB\n";
  CHECK(room_in_meminfo(meminfo) == (20000 + 900000 - 50000) * 1024ULL);
  CHECK(
      room_in_meminfo("Node 0 MemFree: 7 kB\nNode 0 Inactive(file): 1 kB\nNode 0 Dirty: 2 kB\n") ==
      7 * 1024ULL);
  CHECK(room_in_meminfo("Node 0 MemFree: 7 kB\n") == 7 * 1024ULL);
}

TEST_CASE("pages that could not be moved are noted if they are many") {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  CHECK(about_pages_left(0, 1000 * page).empty());
  CHECK(about_pages_left(100, 1000 * page).empty());
  CHECK(about_pages_left(101, 1000 * page).find("could not be moved") != std::string::npos);
}

TEST_CASE("memory of a node that is not to be had is unknown") {
  for (const char* text : {"", "Node 0 MemTotal: 7 kB\n", "Node 0 MemFree:",
                           "Node 0 MemFree: x kB\n", "Node 0 MemFree: 99999999999999999999 kB\n"}) {
    INFO(text);
    CHECK(!room_in_meminfo(text));
  }
  CHECK(!room_on_node(1 << 20));
}

TEST_CASE("a memory policy that moves the first touch is named", "[numa]") {
  constexpr int kNoPolicies = 2;
  const pid_t child = fork();
  if (child == 0) {
    unsigned long node = 1;
    if (syscall(SYS_set_mempolicy, MPOL_DEFAULT, nullptr, 0) != 0) _exit(kNoPolicies);
    bool good = other_memory_policy().empty();
    if (syscall(SYS_set_mempolicy, MPOL_PREFERRED, nullptr, 0) == 0)
      good = good && other_memory_policy().empty();
    if (syscall(SYS_set_mempolicy, MPOL_INTERLEAVE, &node, 64) != 0) _exit(kNoPolicies);
    good = good && other_memory_policy() == "interleave";
    _exit(good ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == kNoPolicies)
    ONDELOC_SKIP("the kernel has no memory policies, or forbids them");
  CHECK(status == 0);
}

TEST_CASE("the kernel balances over nodes if bit 0 of numa_balancing is set") {
  CHECK(balances_over_nodes("1"));
  CHECK(balances_over_nodes("3"));
  CHECK_FALSE(balances_over_nodes("0"));
  CHECK_FALSE(balances_over_nodes("2"));  // tiers of memory
  CHECK_FALSE(balances_over_nodes(""));
  CHECK_FALSE(balances_over_nodes("one"));
}

TEST_CASE("a process may use the memory of the nodes that its cgroup has") {
  const FakeRoot root;
  CHECK(may_use_memory_of(1, root.path()));  // the kernel does not tell
  root.file("/proc/self/status", "Name:\tx\nMems_allowed:\t0000000d\nMems_allowed_list:\t0,2-3\n");
  for (const int node : {0, 2, 3}) CHECK(may_use_memory_of(node, root.path()));
  for (const int node : {1, 4}) CHECK_FALSE(may_use_memory_of(node, root.path()));
  CHECK(may_use_memory_of(-1, root.path()));  // CPUs without a node
}
