// SPDX-License-Identifier: Apache-2.0
// Opens a segment as the mapper and the task do: a sealed memfd that another process has written.
// The first byte chooses: 'r' a file of the input's bytes; anything else a real segment of a few
// ranks with the rest of the input xored in, from the start, the slots or the rank table on.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "mapcore/segment/segment_create.h"
#include "mapcore/segment/segment_view.h"

namespace {

using namespace ondeloc;

UniqueFd raw_file(const std::uint8_t* data, std::size_t size) {
  UniqueFd fd(memfd_create("fuzz", MFD_ALLOW_SEALING | MFD_CLOEXEC));
  if (pwrite(fd.get(), data, size, 0) != static_cast<ssize_t>(size)) std::abort();
  fcntl(fd.get(), F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK);
  return fd;
}

UniqueFd real_segment(const std::uint8_t* data, std::size_t size, std::uint64_t offset) {
  static const std::array<std::uint32_t, 3> world{4, 6, 5};
  SegmentPlan plan;
  plan.world_ranks = 8;
  plan.world_of_local = world;
  plan.uid = getuid();
  plan.gid = getgid();
  auto fd = create_segment(plan);
  if (!fd) std::abort();
  std::vector<char> there(size);
  const ssize_t got = pread(fd->get(), there.data(), size, static_cast<off_t>(offset));
  for (ssize_t i = 0; i < got; ++i)
    there[static_cast<std::size_t>(i)] =
        static_cast<char>(there[static_cast<std::size_t>(i)] ^ data[i]);
  if (got > 0 && pwrite(fd->get(), there.data(), static_cast<std::size_t>(got),
                        static_cast<off_t>(offset)) != got)
    std::abort();
  return *std::move(fd);
}

// Calls every reader. ASAN, or a fault, would show an access out of bounds.
void read_all(const SegmentView& view) {
  std::vector<ondeloc_cell> row(static_cast<std::size_t>(view.local_ranks()) + 1);
  std::uint64_t sum = view.tick();
  for (int i = 0; i < view.local_ranks(); ++i) {
    const ondeloc_slot slot = view.slot(i);
    if (slot.mask_words > ONDELOC_MASK_WORDS) std::abort();
    sum += std::strlen(slot.library) + slot.mask[ONDELOC_MASK_WORDS - 1];
    if (view.read_row(i, row)) sum += row.back().bytes;
    view.each_cell(i, false, [&](int to, const ondeloc_cell& cell) {
      if (to > view.local_ranks()) std::abort();
      sum += cell.messages;
    });
  }
  for (std::uint32_t w = 0; w < 64; ++w)
    if (view.local_of_world(w) >= view.local_ranks()) std::abort();
  [[maybe_unused]] static volatile std::uint64_t
      keep;  // keeps the compiler from removing the reads
  keep = sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::uint64_t slots = ONDELOC_PAGE, table = slots + 3 * sizeof(ondeloc_slot);
  const UniqueFd fd = data[0] == 'r'   ? raw_file(data + 1, size - 1)
                      : data[0] == 's' ? real_segment(data + 1, size - 1, slots)
                      : data[0] == 't' ? real_segment(data + 1, size - 1, table)
                                       : real_segment(data + 1, size - 1, 0);
  const TaskSlot task{.local_rank = 2, .world_rank = 7, .pid = 1, .start_time = 1, .mask = {}};
  const bool written = write_task_slot(fd.get(), task) == 0;
  auto view = SegmentView::open(fd.get());
  // Both sides accept the same headers; a task writes only slots of existing ranks.
  if (written != (view.ok() && view->local_ranks() > 2 && view->world_ranks() > 7)) std::abort();
  if (view) read_all(*view);
  return 0;
}
