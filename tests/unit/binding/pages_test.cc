// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/pages.h"

#include <string>

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

constexpr const char* kMaps =
    "00400000-00500000 r-xp 00000000 08:01 12 /usr/bin/app\n"
    "10000000-50000000 rw-p 00000000 00:00 0 \n"
    "60000000-60400000 rw-s 00000000 00:01 7 /dev/shm/a N0=9\n"
    "70000000-70200000 rw-p 00000000 00:00 0 [heap]\n";
constexpr const char* kNumaMaps =
    "00400000 default file=/usr/bin/app mapped=9 N0=9 kernelpagesize_kB=4\n"
    "10000000 default anon=300 dirty=300 N0=100 N1=200 kernelpagesize_kB=4\n"
    "60000000 default file=/dev/shm/a\\040N0\\0755 dirty=2 N1=2 kernelpagesize_kB=2048\n"
    "70000000 default heap anon=2 dirty=2 N10=2 kernelpagesize_kB=4\n"
    "90000000 default anon=1 N0=1 kernelpagesize_kB=4\n";

}  // namespace

TEST_CASE("mappings with pages on a node are found, and whose those are") {
  using Ranges = std::vector<PageRange>;
  CHECK(pages_on_node(kNumaMaps, kMaps, 0).ranges ==
        Ranges{{0x400000, 0x500000, 9 << 12, false}, {0x10000000, 0x50000000, 100 << 12, true}});
  CHECK(
      pages_on_node(kNumaMaps, kMaps, 1).ranges ==
      Ranges{{0x10000000, 0x50000000, 200 << 12, true}, {0x60000000, 0x60400000, 4 << 20, false}});
  CHECK(pages_on_node(kNumaMaps, kMaps, 2).ranges.empty());
  CHECK(pages_on_node(kNumaMaps, "", 0).ranges.empty());
}

TEST_CASE("pages that a policy interleaves are left out") {
  const auto with = [](const std::string& policy) {
    return pages_on_node("10000000 " + policy + " anon=3 N0=1 N1=2 kernelpagesize_kB=4\n", kMaps,
                         1);
  };
  for (const char* policy :
       {"interleave:0-3", "weighted interleave:0-1", "interleave=static:0,2"}) {
    INFO(policy);
    CHECK(with(policy).interleaved);
    CHECK(with(policy).ranges.empty());
  }
  for (const char* policy : {"default", "bind:1", "prefer:0", "prefer (many):0-1", "local",
                             "default file=/tmp/interleave:0-1"}) {
    INFO(policy);
    CHECK_FALSE(with(policy).interleaved);
    CHECK(with(policy).ranges.size() == 1);
  }
  CHECK_FALSE(pages_on_node("10000000 interleave:0-1 anon=1 N0=1", kMaps, 1).interleaved);
}

TEST_CASE("lines of mappings that make no sense are left out") {
  for (const char* maps : {"10000000", "10000000-", "10000000-50000000", "-50000000 rw-p 0",
                           "50000000-10000000 rw-p 0", "1000000x-50000000 rw-p 0", "a b-c d",
                           "10000000-fffffffffffff000 rw-p 0"}) {
    INFO(maps);
    CHECK(pages_on_node("10000000 default anon=1 N0=1 kernelpagesize_kB=4\n", maps, 0)
              .ranges.empty());
  }
  for (const char* line : {"", "x N0=1", "10000000 N0=", "10000000 N0=x", "10000000 N0=0"}) {
    INFO(line);
    CHECK(pages_on_node(line, kMaps, 0).ranges.empty());
  }
  const auto most =
      pages_on_node("10000000 N0=18446744073709551615 kernelpagesize_kB=4", kMaps, 0).ranges;
  REQUIRE(most.size() == 1);
  CHECK(most[0].on_node == 0x40000000);
}

TEST_CASE("memory that is reserved and not used is sparse") {
  constexpr std::uint64_t kGib = std::uint64_t{1} << 30;
  CHECK(is_sparse({{0, 128 * kGib, kGib, true}}));
  CHECK_FALSE(is_sparse({{0, 32 * kGib, kGib, true}}));
  CHECK_FALSE(is_sparse({{0, kGib, 1, true}}));
}
