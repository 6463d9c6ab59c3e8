// SPDX-License-Identifier: Apache-2.0
// The privileged side of the segment. slurmstepd makes the segment as root and writes it with
// pwrite only; it never maps it or reads it. Before a task executes the program, it reads and
// checks the header, which other tasks may have changed by then, and writes its own slot with
// pwrite too. Units: ranks and bytes. Ownership: the caller owns the descriptor, which is CLOEXEC
// until a task makes it inheritable. Thread safety: no shared state. Errors: one sentence each;
// write_task_slot returns an errno, as it runs between fork and exec. Source of the sealing rules:
// memfd_create(2), fcntl(2) F_ADD_SEALS.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <span>

#include "mapcore/base/result.h"
#include "mapcore/base/unique_fd.h"
#include "mapcore/segment/layout.h"

namespace ondeloc {

// A world rank that only its task learns: Slurm does not tell slurmstepd where the ranks of a
// component of a heterogeneous step begin.
inline constexpr std::uint32_t kRankOfTask = UINT32_MAX;

struct SegmentPlan {
  std::uint32_t world_ranks = 0;
  // World rank of each local rank, by local rank, or kRankOfTask. Its size is the number of local
  // ranks.
  std::span<const std::uint32_t> world_of_local;
  std::uint32_t job_id = 0;
  std::uint32_t step_id = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint32_t cpus_per_task = 1;
  std::uint32_t interval_ms = 500;
  std::uint32_t record_cells = 0;  // of each rank's pool in the event channel; 0: no channel
};

// Makes a memfd with its final size, sealed against growing, shrinking and further sealing, mode
// 0600, owned by uid:gid, with the header and the world->local table. Rows and slots stay holes.
Result<UniqueFd> create_segment(const SegmentPlan& plan);

struct TaskSlot {
  std::uint32_t local_rank = 0;
  std::uint32_t world_rank = 0;
  pid_t pid = 0;
  std::uint64_t start_time = 0;  // field 22 of /proc/<pid>/stat
  // The result of sched_getaffinity; words beyond ONDELOC_MASK_WORDS are left out.
  std::span<const std::uint64_t> mask = {};
};

// Writes the task part of a slot and, if the creator could not know it, the task's entry of the
// world->local table. Calls pread and pwrite only and does not allocate, so a forked child may call
// it. Returns 0 or an errno; EINVAL if fd is not a segment or a rank is out of bounds.
int write_task_slot(int segment_fd, const TaskSlot& task);

// Start time of a process, 0 if it cannot be read. A forked child may call it, too.
std::uint64_t process_start_time(pid_t pid);

}  // namespace ondeloc
