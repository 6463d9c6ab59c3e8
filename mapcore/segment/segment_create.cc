// SPDX-License-Identifier: Apache-2.0
#include "mapcore/segment/segment_create.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "mapcore/segment/header_check.h"

// Kernels know it from 6.3 on; the C library of Debian 12 lacks the name.
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

namespace ondeloc {
namespace {

int write_all(int fd, const void* data, std::size_t size, std::uint64_t offset) {
  const char* from = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t done = pwrite(fd, from, size, static_cast<off_t>(offset));
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) return done < 0 ? errno : EIO;
    from += done;
    size -= static_cast<std::size_t>(done);
    offset += static_cast<std::uint64_t>(done);
  }
  return 0;
}

std::uint64_t whole_size(const SegmentPlan& plan, const ondeloc_places& places) {
  const auto ranks = static_cast<std::uint32_t>(plan.world_of_local.size());
  return places.segment_size + ondeloc_channel_size(ranks, plan.record_cells);
}

ondeloc_header header_of(const SegmentPlan& plan, const ondeloc_places& places) {
  ondeloc_header h{};
  h.magic = ONDELOC_MAGIC;
  h.version = ONDELOC_LAYOUT_VERSION;
  h.header_size = sizeof(ondeloc_header);
  h.record_cells = plan.record_cells;
  h.segment_size = whole_size(plan, places);
  h.local_ranks = static_cast<std::uint32_t>(plan.world_of_local.size());
  h.world_ranks = plan.world_ranks;
  h.slots_offset = places.slots_offset;
  h.table_offset = places.table_offset;
  h.rows_offset = places.rows_offset;
  h.row_stride = places.row_stride;
  h.slot_size = sizeof(ondeloc_slot);
  h.row_cells = h.local_ranks + 1;
  h.peer_cells = ondeloc_peer_cells(h.local_ranks, h.world_ranks);
  h.job_id = plan.job_id;
  h.step_id = plan.step_id;
  h.uid = plan.uid;
  h.cpus_per_task = plan.cpus_per_task;
  h.interval_ms = plan.interval_ms;
  return h;
}

Status check_plan(const SegmentPlan& plan) {
  const std::size_t n = plan.world_of_local.size();
  if (n == 0 || n > ONDELOC_MAX_LOCAL_RANKS || plan.world_ranks > ONDELOC_MAX_WORLD_RANKS ||
      plan.world_ranks < n)
    return Error("segment: " + std::to_string(n) + " of " + std::to_string(plan.world_ranks) +
                     " ranks on this node, which is beyond what ondeloc can hold",
                 EINVAL);
  if (plan.record_cells > ONDELOC_RECORD_CELLS_MAX)
    return Error("segment: too many cells in an event pool", EINVAL);
  for (const std::uint32_t world : plan.world_of_local)
    if (world >= plan.world_ranks && world != kRankOfTask)
      return Error("segment: world rank " + std::to_string(world) + " is not below " +
                       std::to_string(plan.world_ranks),
                   EINVAL);
  return {};
}

UniqueFd open_memfd() {
  const unsigned flags = MFD_ALLOW_SEALING | MFD_CLOEXEC;
  UniqueFd fd(memfd_create("ondeloc", flags | MFD_NOEXEC_SEAL));
  if (!fd.valid() && errno == EINVAL) fd.reset(memfd_create("ondeloc", flags));
  return fd;
}

// The size comes before the contents: the seals forbid only changes of the size.
Status size_and_seal(int fd, std::uint64_t size, uid_t uid, gid_t gid) {
  if (ftruncate(fd, static_cast<off_t>(size)) != 0) return Error::from_errno("segment: ftruncate");
  if (fchmod(fd, 0600) != 0) return Error::from_errno("segment: fchmod");
  if (fchown(fd, uid, gid) != 0) return Error::from_errno("segment: fchown");
  if (fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) != 0)
    return Error::from_errno("segment: F_ADD_SEALS");
  return {};
}

// Writes a large world in pieces, so that zero entries stay holes.
int write_table(int fd, const SegmentPlan& plan, std::uint64_t offset) {
  for (std::size_t local = 0; local < plan.world_of_local.size(); ++local) {
    if (plan.world_of_local[local] == kRankOfTask) continue;
    const auto entry = static_cast<std::uint32_t>(local + 1);
    const std::uint64_t at = offset + plan.world_of_local[local] * sizeof(std::uint32_t);
    if (const int bad = write_all(fd, &entry, sizeof(entry), at); bad != 0) return bad;
  }
  return 0;
}

int read_header(int fd, ondeloc_header& header) {
  struct stat file {};
  if (fstat(fd, &file) != 0) return errno;
  const ssize_t got = pread(fd, &header, sizeof(header), 0);
  if (got < 0) return errno;
  if (got != sizeof(header)) return EINVAL;
  return ondeloc_header_fault(&header, static_cast<std::uint64_t>(file.st_size)) == nullptr
             ? 0
             : EINVAL;
}

}  // namespace

Result<UniqueFd> create_segment(const SegmentPlan& plan) {
  if (Status good = check_plan(plan); !good) return std::move(good).error();
  const ondeloc_places places =
      ondeloc_places_of(static_cast<std::uint32_t>(plan.world_of_local.size()), plan.world_ranks);
  UniqueFd fd = open_memfd();
  if (!fd.valid()) return Error::from_errno("segment: memfd_create");
  if (Status good = size_and_seal(fd.get(), whole_size(plan, places), plan.uid, plan.gid); !good)
    return std::move(good).error();
  if (const int bad = write_table(fd.get(), plan, places.table_offset); bad != 0)
    return Error::from_errno("segment: writing the rank table", bad);
  const ondeloc_header header = header_of(plan, places);
  if (const int bad = write_all(fd.get(), &header, sizeof(header), 0); bad != 0)
    return Error::from_errno("segment: writing the header", bad);
  return fd;
}

int write_task_slot(int segment_fd, const TaskSlot& task) {
  ondeloc_header header{};
  if (const int bad = read_header(segment_fd, header); bad != 0) return bad;
  if (task.local_rank >= header.local_ranks || task.world_rank >= header.world_ranks) return EINVAL;
  ondeloc_slot slot{};
  slot.world_rank = task.world_rank;
  slot.task_pid = task.pid;
  slot.task_start = task.start_time;
  const std::size_t words = std::min<std::size_t>(task.mask.size(), ONDELOC_MASK_WORDS);
  slot.mask_words = static_cast<std::uint32_t>(words);
  std::copy_n(task.mask.begin(), words, slot.mask);
  const std::uint64_t at = header.slots_offset + task.local_rank * sizeof(ondeloc_slot);
  const std::uint32_t entry = task.local_rank + 1;
  const std::uint64_t entry_at = header.table_offset + task.world_rank * sizeof(entry);
  if (const int bad = write_all(segment_fd, &entry, sizeof(entry), entry_at); bad != 0) return bad;
  // Writes the task part only, and task_state last, so that READY means that the part is whole.
  if (const int bad = write_all(segment_fd, &slot, offsetof(ondeloc_slot, owner_pid), at); bad != 0)
    return bad;
  slot.task_state = ONDELOC_TASK_READY;
  return write_all(segment_fd, &slot.task_state, sizeof(slot.task_state), at);
}

std::uint64_t process_start_time(pid_t pid) {
  char path[40];
  std::snprintf(path, sizeof(path), "/proc/%d/stat", static_cast<int>(pid));
  const UniqueFd fd(open(path, O_RDONLY | O_CLOEXEC));
  char text[1024];
  const ssize_t got = fd.valid() ? read(fd.get(), text, sizeof(text) - 1) : -1;
  if (got <= 0) return 0;
  text[got] = '\0';
  // The name in parentheses may hold any character; field 3 follows the last ')'.
  const char* at = std::strrchr(text, ')');
  for (int field = 2; at != nullptr && field < 22; ++field) {
    at = std::strchr(at + 1, ' ');
  }
  return at == nullptr ? 0 : std::strtoull(at + 1, nullptr, 10);
}

}  // namespace ondeloc
