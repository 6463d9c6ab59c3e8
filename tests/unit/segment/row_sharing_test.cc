// SPDX-License-Identifier: Apache-2.0
// Several writers and the reader on one segment, with the code that ranks and mapper use. The tsan
// preset looks at the threads; processes show that counts are exact without it.
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "mapcore/segment/segment_view.h"
#include "tests/unit/catch.h"
#include "tests/unit/segment/segment_fixture.h"

#include "pmix_hooks/rank/add_message.h"
#include "pmix_hooks/rank/rank_segment.h"

using namespace ondeloc;

namespace {

constexpr int kMessages = 200000;

// Maps the segment as a rank does and claims a row.
struct Writer {
  explicit Writer(int fd, int local) {
    StepEnv step;
    step.fd = fd;
    step.local_ranks = 3;
    step.world_ranks = 8;
    REQUIRE(segment.open(step));
    claimed = segment.claim(local);
    row = segment.row(local);
    __atomic_store_n(&segment.slot(local).rank_state, ONDELOC_RANK_ATTACHED, __ATOMIC_RELEASE);
  }
  RankSegment segment;
  bool claimed = false;
  ondeloc_cell* row = nullptr;
};

template <bool kMultiple>
void write_messages(ondeloc_cell* row) {
  for (int i = 0; i < kMessages; ++i) add_message<kMultiple>(row[i % 4], 10);
}

// Totals only grow while they are read; ends when the row holds all messages. A cell's two numbers
// are not read at one moment, so their relation is for expect_whole().
void read_until(const SegmentView& view, int local, std::uint64_t messages) {
  std::vector<ondeloc_cell> row(4), before(4);
  std::uint64_t sum = 0;
  while (sum < messages) {
    view.read_row(local, row);
    sum = 0;
    bool grown = true;
    for (std::size_t j = 0; j < 4; ++j) {
      grown = grown && row[j].bytes >= before[j].bytes && row[j].messages >= before[j].messages;
      sum += row[j].messages;
    }
    REQUIRE(grown);
    before = row;
  }
  CHECK(sum == messages);
}

// For a row whose writers have ended.
void expect_whole(const SegmentView& view, int local, std::uint64_t messages) {
  std::vector<ondeloc_cell> row(4);
  view.read_row(local, row);
  for (const ondeloc_cell& cell : row) {
    CHECK(cell.messages == messages / 4);
    CHECK(cell.bytes == 10 * cell.messages);
  }
}

}  // namespace

TEST_CASE("threads of one rank share its row exactly") {
  auto fd = create_segment(small_plan());
  REQUIRE(fd.ok());
  auto view = SegmentView::open(fd->get());
  REQUIRE(view.ok());
  Writer writer(fd->get(), 1);
  REQUIRE(writer.claimed);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) threads.emplace_back(write_messages<true>, writer.row);
  read_until(*view, 1, 4ULL * kMessages);
  for (std::thread& thread : threads) thread.join();
  expect_whole(*view, 1, 4ULL * kMessages);
}

TEST_CASE("one writer thread per row, several rows, one reader") {
  auto fd = create_segment(small_plan());
  REQUIRE(fd.ok());
  auto view = SegmentView::open(fd->get());
  REQUIRE(view.ok());
  Writer a(fd->get(), 0), b(fd->get(), 1), c(fd->get(), 2);
  std::vector<std::thread> threads;
  for (Writer* w : {&a, &b, &c}) threads.emplace_back(write_messages<false>, w->row);
  for (int local = 0; local < 3; ++local) read_until(*view, local, kMessages);
  for (std::thread& thread : threads) thread.join();
  for (int local = 0; local < 3; ++local) expect_whole(*view, local, kMessages);
}

TEST_CASE("a row has one owner") {
  auto fd = create_segment(small_plan());
  REQUIRE(fd.ok());
  CHECK(Writer(fd->get(), 2).claimed);
  CHECK(!Writer(fd->get(), 2).claimed);
}

TEST_CASE("writer processes") {
  auto fd = create_segment(small_plan());
  REQUIRE(fd.ok());
  auto view = SegmentView::open(fd->get());
  REQUIRE(view.ok());
  std::vector<pid_t> children;
  for (int local = 0; local < 3; ++local) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    Writer writer(fd->get(), local);
    write_messages<false>(writer.row);
    _exit(0);
  }
  for (int local = 0; local < 3; ++local) read_until(*view, local, kMessages);
  for (const pid_t child : children) waitpid(child, nullptr, 0);
  for (int local = 0; local < 3; ++local) expect_whole(*view, local, kMessages);
  CHECK(view->slot(0).owner_pid == children[0]);
}

TEST_CASE("a slot that changes while its row is read does no harm") {
  auto fd = create_segment(small_plan());
  REQUIRE(fd.ok());
  auto view = SegmentView::open(fd->get());
  REQUIRE(view.ok());
  const Writer writer(fd->get(), 1);
  writer.row[0].bytes = 7;
  std::atomic<bool> over{false};
  std::thread hostile([&] {
    for (std::uint32_t i = 0; !over; ++i)
      __atomic_store_n(&writer.segment.slot(1).rank_state,
                       i % 2 == 0 ? ONDELOC_RANK_NONE : ONDELOC_RANK_ATTACHED, __ATOMIC_RELEASE);
  });
  std::uint64_t most = 0;
  bool was_there = false;
  for (int changes = 0; changes < 200;) {
    for (const bool fetched : {false, true}) {
      view->each_cell(1, fetched,
                      [&](int, const ondeloc_cell& cell) { most = std::max(most, cell.bytes); });
    }
    std::vector<ondeloc_cell> row(4);
    const bool is_there = view->read_row(1, row);
    most = std::max(most, row[0].bytes);
    if (is_there != was_there) ++changes;
    was_there = is_there;
  }
  over = true;
  hostile.join();
  CHECK(most == 7);
}
