// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/proc.h"

#include <unistd.h>

#include "tests/unit/binding/fake_root.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("the own process is read from /proc") {
  CHECK(read_process_stat(getpid())->parent == getppid());
  CHECK(read_process_stat(getpid())->start > 0);
  CHECK(*read_process_uid(getpid()) == getuid());
  CHECK(*read_private_bytes(getpid()) > 100000);
  CHECK(read_huge_bytes(getpid()) <= *read_private_bytes(getpid()));
  CHECK(descends_from(getpid(), getppid()));
  CHECK(!descends_from(getppid(), getpid()));
  CHECK(!read_process_stat(-1));
}

TEST_CASE("hostile and missing /proc files") {
  const FakeRoot root;
  root.file("/proc/7/stat", "7 (a) b) S) R 3 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 1 1");
  CHECK(read_process_stat(7, root.path())->parent == 3);
  CHECK(read_process_stat(7, root.path())->start == 12345);
  CHECK(!read_process_stat(7, root.path())->over);
  root.file("/proc/6/stat", "6 (a R) Z 3 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 12345 1 1");
  CHECK(read_process_stat(6, root.path())->over);
  root.file("/proc/8/stat", "8 (x");
  CHECK(!read_process_stat(8, root.path()));
  root.file("/proc/5/status", "VmRSS:\t 300 kB\nRssAnon:\t  20 kB\nRssShmem:\t 280 kB\n");
  CHECK(read_private_bytes(5, root.path()) == 20 * 1024);
  root.file("/proc/4/status", "VmRSS:\t 300 kB\n");
  CHECK(read_private_bytes(4, root.path()) == 300 * 1024);
  root.file("/proc/4/smaps_rollup", "559 [rollup]\nRss:  300 kB\nAnonHugePages:    2048 kB\n");
  CHECK(read_huge_bytes(4, root.path()) == 2048 * 1024);
  CHECK(read_huge_bytes(5, root.path()) == 0);  // before Linux 4.14
  root.file("/proc/9/status", "Name:\tx\nUid:\tabc\n");
  CHECK(!read_process_uid(9, root.path()));
  CHECK(read_threads(10, root.path()).empty());
}
