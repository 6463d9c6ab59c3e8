// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/page_sharing.h"

#include <map>
#include <random>
#include <utility>

#include "tests/unit/catch.h"

namespace page_sharing_test {
using namespace ondeloc;

namespace {

constexpr std::uint64_t kPage = 4096;

using Pairs = std::map<std::pair<int, int>, double>;

Pairs pairs_of(const PageSharing& sharing) {
  Pairs pairs;
  for (const MatrixEntry& entry : sharing.pairs().entries) {
    CHECK(entry.src < entry.dst);
    pairs[{entry.src, entry.dst}] = entry.messages;
  }
  return pairs;
}

// Each thread faults so often on every page of a range of its own.
void touch(PageSharing& sharing, int thread, std::uint64_t first, int pages, int times) {
  for (int i = 0; i < pages * times; ++i)
    sharing.add(thread, (first + static_cast<std::uint64_t>(i % pages)) * kPage + 8);
}

}  // namespace

TEST_CASE("partners share the smaller number of their faults on each page") {
  PageSharing sharing(4);
  for (const int thread : {0, 1, 2, 3}) touch(sharing, thread, 100 * (thread + 1), 50, 3);  // own
  touch(sharing, 0, 1000, 10, 3);
  touch(sharing, 2, 1000, 10, 5);
  touch(sharing, 3, 2000, 10, 2);
  touch(sharing, 1, 2000, 10, 2);
  CHECK(pairs_of(sharing) == Pairs{{{0, 2}, 30}, {{1, 3}, 20}});
  CHECK(sharing.faults() == 4 * 150 + 80 + 40);
}

TEST_CASE("nothing is shared without faults, and by threads that use pages of their own") {
  PageSharing sharing(3);
  CHECK(sharing.pairs().entries.empty());
  CHECK(sharing.pairs().ranks == 3);
  for (const int thread : {0, 1, 2}) touch(sharing, thread, 100 * (thread + 1), 100, 4);
  CHECK(sharing.pairs().entries.empty());
  CHECK(PageSharing().pairs().entries.empty());
}

TEST_CASE("pages that many threads use keep four each, and all pairs come out alike") {
  PageSharing sharing(8);
  std::mt19937 random(1);
  for (int i = 0; i < 4 * 8 * 4000; ++i)
    sharing.add(static_cast<int>(random() % 8), random() % 4000 * kPage);
  const Pairs pairs = pairs_of(sharing);
  double sum = 0;
  for (const auto& [pair, shared] : pairs) sum += shared;
  CHECK(pairs.size() == 28);
  for (const auto& [pair, shared] : pairs) {
    CAPTURE(pair.first, pair.second, shared);
    CHECK(shared > 0.2 * sum / 28);
    CHECK(shared < 5 * sum / 28);
  }
}

TEST_CASE("more pages than there is room for leave a fair share of all pairs") {
  PageSharing sharing(4);
  const auto many = static_cast<int>(8 * PageSharing::kMostPages);
  touch(sharing, 0, 1 << 20, many, 2);
  touch(sharing, 1, 1 << 20, many, 2);
  touch(sharing, 2, 1 << 24, many / 2, 2);
  touch(sharing, 3, 1 << 24, many / 2, 2);
  CHECK(sharing.pages() <= PageSharing::kMostPages);
  CHECK(sharing.pages() > PageSharing::kMostPages / 8);
  Pairs pairs = pairs_of(sharing);
  REQUIRE(pairs.size() == 2);
  const double ratio = pairs[{0, 1}] / pairs[{2, 3}];
  CHECK(ratio > 1.8);
  CHECK(ratio < 2.2);
}

TEST_CASE("old faults lose half of their weight, vanish, and make room again") {
  PageSharing sharing(2);
  for (const int thread : {0, 1}) touch(sharing, thread, 7, 100, 8);
  sharing.age();
  CHECK(pairs_of(sharing) == Pairs{{{0, 1}, 400}});
  for (int i = 0; i < 8; ++i) sharing.age();
  CHECK(sharing.pages() == 0);
  CHECK(sharing.pairs().entries.empty());

  touch(sharing, 0, 0, static_cast<int>(4 * PageSharing::kMostPages), 1);
  for (int i = 0; i < 8; ++i) sharing.age();
  for (const int thread : {0, 1}) touch(sharing, thread, 0, 1000, 1);
  CHECK(pairs_of(sharing) == Pairs{{{0, 1}, 1000}});
}

TEST_CASE("a page on which one thread faults without end does not overflow") {
  PageSharing sharing(2);
  for (const int thread : {0, 1}) touch(sharing, thread, 7, 1, 100'000);
  const Pairs pairs = pairs_of(sharing);
  REQUIRE(pairs.size() == 1);
  CHECK(pairs.begin()->second > 4000);
}

}  // namespace page_sharing_test
