// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/memory.h"

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

TEST_CASE("memory of a node that is not to be had is unknown") {
  for (const char* text : {"", "Node 0 MemTotal: 7 kB\n", "Node 0 MemFree:",
                           "Node 0 MemFree: x kB\n", "Node 0 MemFree: 99999999999999999999 kB\n"}) {
    INFO(text);
    CHECK(!room_in_meminfo(text));
  }
  CHECK(!room_on_node(1 << 20));
}
