// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/page_sample.h"

#include <unistd.h>

#include <vector>

#include "mapcore/binding/proc.h"
#include "tests/unit/catch.h"

namespace page_sample_test {
using namespace ondeloc;
using Addresses = std::vector<std::uintptr_t>;

TEST_CASE("memory of its own is writable, private and of no file") {
  CHECK(own_ranges("00400000-00500000 r-xp 00000000 08:01 12 /usr/bin/app\n"
                   "00600000-00601000 rw-p 00000000 08:01 12 /usr/bin/app\n"
                   "10000000-50000000 rw-p 00000000 00:00 0 \n"
                   "50000000-50001000 ---p 00000000 00:00 0 \n"
                   "60000000-60400000 rw-s 00000000 00:01 7 /dev/shm/a\n"
                   "70000000-70200000 rw-p 00000000 00:00 0                [heap]\n"
                   "80000000-80200000 rw-p 00000000 00:00 0 [anon: a name]\n"
                   "90000000-90001000 rw-p 00000000 00:00 0 [vvar]\n"
                   "a0000000-a0001000 rw-p 00000000 00:00 0\n") ==
        std::vector<AddressRange>{{0x10000000, 0x50000000},
                                  {0x70000000, 0x70200000},
                                  {0x80000000, 0x80200000},
                                  {0xa0000000, 0xa0001000}});
  for (const char* text : {"", "10000000-20000000", "10000000-20000000 rw-p", "x-y rw-p 0 0 0"})
    CHECK(own_ranges(text).empty());
}

TEST_CASE("addresses are spread evenly over all ranges") {
  const std::vector<AddressRange> ranges = {
      {0x10000, 0x14000}, {0x20000, 0x21000}, {0x30000, 0x33000}};
  CHECK(spread_addresses(ranges, 0x1000, 100).size() == 8);
  CHECK(spread_addresses(ranges, 0x1000, 4) == Addresses{0x10000, 0x12000, 0x20000, 0x31000});
  CHECK(spread_addresses(ranges, 0x1000, 1) == Addresses{0x10000});
  CHECK(spread_addresses({}, 0x1000, 4).empty());
}

TEST_CASE("the far share is that of the pages which the threads of their node cannot use alone") {
  const PagesByNode first = {{0, 100}}, both = {{0, 50}, {1, 50}}, most = {{0, 75}, {1, 25}};
  const std::map<int, double> here = {{0, 1.0}}, halves = {{0, 0.5}, {1, 0.5}}, there = {{2, 1.0}};
  CHECK(far_share(first, here) == 0);
  CHECK(far_share(first, halves) == 0.5);
  CHECK(far_share(both, halves) == 0);
  CHECK(far_share(both, here) == 0.5);
  CHECK(far_share(most, halves) == 0.25);
  CHECK(far_share(most, there) == 1);
  CHECK(far_share({}, here) == 0);
}

TEST_CASE("the kernel tells the nodes of the pages that a process has touched", "[numa]") {
  if (!read_small_file("/proc/self/numa_maps")) ONDELOC_SKIP("this kernel has no NUMA");
  // Sanitizers reserve much memory that is hardly used, so that a small test has too few pages.
  const std::vector<char> touched(std::size_t{64} << 20, 'x');
  const auto pages = sample_pages(getpid());
  REQUIRE(pages);
  CHECK(touched.back() == 'x');
  std::uint64_t all = 0;
  for (const auto& [node, count] : *pages) {
    CHECK(node >= 0);
    all += count;
  }
  CHECK(all >= 64);
}

TEST_CASE("a process that is gone has no pages") { CHECK_FALSE(sample_pages(1 << 30)); }

}  // namespace page_sample_test
