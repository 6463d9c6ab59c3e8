// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <functional>
#include <vector>

#include "mapcore/segment/segment_view.h"
#include "tests/unit/catch.h"
#include "tests/unit/segment/segment_fixture.h"

using namespace ondeloc;

TEST_CASE("a new segment is sealed, closed on exec, private and readable by the view") {
  auto fd = create_segment(small_plan());
  REQUIRE(fd.ok());
  struct stat file {};
  REQUIRE(fstat(fd->get(), &file) == 0);
  CHECK((file.st_mode & 0777) == 0600);
  CHECK(fcntl(fd->get(), F_GETFD) == FD_CLOEXEC);
  CHECK(ftruncate(fd->get(), 0) != 0);
  CHECK(ftruncate(fd->get(), file.st_size + 4096) != 0);
  auto view = SegmentView::open(fd->get());
  REQUIRE(view.ok());
  CHECK(view->local_ranks() == 3);
  CHECK(view->world_ranks() == 8);
  CHECK(view->header().job_id == 17);
  const std::vector<int> expected{-1, -1, -1, -1, 0, 2, 1, -1, -1};
  for (std::uint32_t w = 0; w < 9; ++w) CHECK(view->local_of_world(w) == expected[w]);
}

TEST_CASE("rows that nobody claimed read as zero and stay holes") {
  auto fd = create_segment(small_plan());
  REQUIRE(fd.ok());
  auto view = SegmentView::open(fd->get());
  REQUIRE(view.ok());
  struct stat before {
  }, after{};
  REQUIRE(fstat(fd->get(), &before) == 0);
  std::vector<ondeloc_cell> row(4, ondeloc_cell{1, 1});
  CHECK(!view->read_row(2, row));
  CHECK(row[3].bytes == 0);
  REQUIRE(fstat(fd->get(), &after) == 0);
  const auto rows_page = view->header().rows_offset;
  CHECK(lseek(fd->get(), static_cast<off_t>(rows_page), SEEK_DATA) < 0);
  CHECK(after.st_size == before.st_size);
}

TEST_CASE("a task writes its slot and its place in the world table") {
  auto fd = create_segment(small_plan());
  REQUIRE(fd.ok());
  std::vector<std::uint64_t> mask(200, 0);
  mask[0] = 5;
  mask[1] = 1;
  TaskSlot task{.local_rank = 1, .world_rank = 7, .pid = 4711, .start_time = 99, .mask = mask};
  REQUIRE(write_task_slot(fd->get(), task) == 0);
  auto view = SegmentView::open(fd->get());
  REQUIRE(view.ok());
  const ondeloc_slot slot = view->slot(1);
  CHECK(slot.task_state == ONDELOC_TASK_READY);
  CHECK(slot.task_pid == 4711);
  CHECK(slot.task_start == 99);
  CHECK(slot.mask_words == ONDELOC_MASK_WORDS);
  CHECK(slot.mask[0] == 5);
  CHECK(slot.mask[1] == 1);
  CHECK(slot.owner_pid == 0);
  CHECK(view->local_of_world(7) == 1);
  CHECK(view->slot(0).task_state == ONDELOC_TASK_EMPTY);
}

TEST_CASE("world ranks that the tasks learn are written by them") {
  SegmentPlan plan = small_plan();
  const std::vector<std::uint32_t> unknown(plan.world_of_local.size(), kRankOfTask);
  plan.world_of_local = unknown;
  auto fd = create_segment(plan);
  REQUIRE(fd.ok());
  auto view = SegmentView::open(fd->get());
  REQUIRE(view.ok());
  for (std::uint32_t world = 0; world < plan.world_ranks; ++world)
    CHECK(view->local_of_world(world) == -1);
  REQUIRE(write_task_slot(fd->get(), {.local_rank = 1, .world_rank = 6}) == 0);
  CHECK(view->local_of_world(6) == 1);
  CHECK(view->slot(1).world_rank == 6);
}

TEST_CASE("a task slot out of bounds is refused") {
  auto fd = create_segment(small_plan());
  REQUIRE(fd.ok());
  CHECK(write_task_slot(fd->get(), {.local_rank = 3, .world_rank = 0}) == EINVAL);
  CHECK(write_task_slot(fd->get(), {.local_rank = 0, .world_rank = 8}) == EINVAL);
  CHECK(write_task_slot(-1, {}) == EBADF);
  const UniqueFd null(open("/dev/null", O_RDWR));
  CHECK(write_task_slot(null.get(), {}) == EINVAL);
}

TEST_CASE("an impossible plan is one sentence") {
  for (const std::uint32_t world : {0U, 2U, ONDELOC_MAX_WORLD_RANKS + 1}) {
    SegmentPlan plan = small_plan();
    plan.world_ranks = world;
    auto fd = create_segment(plan);
    REQUIRE(!fd.ok());
    CHECK(fd.error().message().find("segment: ") == 0);
  }
  SegmentPlan outside = small_plan();
  outside.world_ranks = 6;
  CHECK(!create_segment(outside).ok());
}

TEST_CASE("a segment of 512 ranks keeps the memory bound") {
  std::vector<std::uint32_t> world(512);
  for (std::uint32_t i = 0; i < 512; ++i) world[i] = i;
  SegmentPlan plan = small_plan();
  plan.world_ranks = 512;
  plan.world_of_local = world;
  auto fd = create_segment(plan);
  REQUIRE(fd.ok());
  struct stat file {};
  REQUIRE(fstat(fd->get(), &file) == 0);
  CHECK(file.st_size <= 48LL * 512 * 512 + 8192LL * 512 + (1LL << 20));
}

TEST_CASE("the start time of a process is read whatever its name is") {
  const std::uint64_t start = process_start_time(getpid());
  CHECK(start > 0);
  CHECK(process_start_time(-1) == 0);
}

TEST_CASE("a file that is not a sealed memfd is refused") {
  const UniqueFd plain(memfd_create("plain", MFD_CLOEXEC));
  REQUIRE(ftruncate(plain.get(), 1 << 20) == 0);
  CHECK(!SegmentView::open(plain.get()).ok());
  CHECK(!SegmentView::open(-1).ok());
  const UniqueFd null(open("/dev/null", O_RDWR | O_CLOEXEC));
  CHECK(!SegmentView::open(null.get()).ok());
}

TEST_CASE("hostile headers are refused one by one") {
  using Edit = std::function<void(ondeloc_header&)>;
  const std::vector<Edit> edits{
      [](ondeloc_header& h) { h.magic ^= 1; },
      [](ondeloc_header& h) { ++h.version; },
      [](ondeloc_header& h) { h.header_size = 0; },
      [](ondeloc_header& h) { h.slot_size = 8; },
      [](ondeloc_header& h) { h.local_ranks = 0; },
      [](ondeloc_header& h) { h.local_ranks = 4; },
      [](ondeloc_header& h) { h.local_ranks = UINT32_MAX; },
      [](ondeloc_header& h) { h.world_ranks = 2; },
      [](ondeloc_header& h) { h.world_ranks = UINT32_MAX; },
      [](ondeloc_header& h) { h.row_cells = 5; },
      [](ondeloc_header& h) { h.peer_cells = 16; },
      [](ondeloc_header& h) { h.slots_offset = UINT64_MAX; },
      [](ondeloc_header& h) { h.table_offset += 4; },
      [](ondeloc_header& h) { h.rows_offset = 0; },
      [](ondeloc_header& h) { h.row_stride = UINT64_MAX; },
      [](ondeloc_header& h) { h.segment_size += 4096; },
  };
  for (std::size_t i = 0; i < edits.size(); ++i) {
    auto fd = create_segment(small_plan());
    REQUIRE(fd.ok());
    ondeloc_header h{};
    REQUIRE(pread(fd->get(), &h, sizeof(h), 0) == sizeof(h));
    edits[i](h);
    REQUIRE(pwrite(fd->get(), &h, sizeof(h), 0) == sizeof(h));
    INFO("edit " << i);
    CHECK(!SegmentView::open(fd->get()).ok());
    CHECK(write_task_slot(fd->get(), {}) == EINVAL);
  }
}

TEST_CASE("random bytes that ranks write into slots and the table do no harm") {
  auto fd = create_segment(small_plan());
  REQUIRE(fd.ok());
  auto view = SegmentView::open(fd->get());
  REQUIRE(view.ok());
  std::vector<char> junk(view->header().rows_offset - view->header().slots_offset, '\xff');
  REQUIRE(pwrite(fd->get(), junk.data(), junk.size(),
                 static_cast<off_t>(view->header().slots_offset)) ==
          static_cast<ssize_t>(junk.size()));
  const ondeloc_slot slot = view->slot(2);
  CHECK(slot.mask_words == ONDELOC_MASK_WORDS);
  CHECK(slot.library[sizeof(slot.library) - 1] == '\0');
  for (std::uint32_t w = 0; w < 8; ++w) CHECK(view->local_of_world(w) == -1);
}

TEST_CASE("a view sees that a rank starts MPI") {
  auto fd = create_segment(small_plan());
  REQUIRE(fd.ok());
  auto view = SegmentView::open(fd->get());
  REQUIRE(view.ok());
  CHECK_FALSE(view->mpi_starts());
  const std::uint32_t yes = 1;
  REQUIRE(pwrite(fd->get(), &yes, sizeof(yes), offsetof(ondeloc_header, mpi_starts)) ==
          sizeof(yes));
  CHECK(view->mpi_starts());
}

TEST_CASE("the tick only grows") {
  auto fd = create_segment(small_plan());
  REQUIRE(fd.ok());
  auto view = SegmentView::open(fd->get());
  REQUIRE(view.ok());
  CHECK(view->tick() == 0);
  view->raise_tick();
  CHECK(view->tick() == 1);
}
