// SPDX-License-Identifier: Apache-2.0
// A step without Slurm and MPI for tests of the mapper: processes that write a real segment as
// libondeloc_rank.so does, with ordinary stores.
#pragma once

#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "mapcore/base/unique_fd.h"
#include "mapcore/binding/affinity.h"
#include "mapcore/segment/segment_create.h"
#include "mapcore/segment/used_cells.h"
#include "tests/unit/step/wait_until.h"

namespace fake_step {
using namespace ondeloc;

inline constexpr int kRanks = 4;
// A value for partner_bit: ranks 0 and 1 send to other nodes, ranks 2 and 3 send nothing.
inline constexpr int kOffNode = kRanks;
// A rank ends then whatever happens, so that no test waits for it without a limit.
inline constexpr unsigned kLongestSeconds = 900;

// The segment as a rank maps it.
struct Rank {
  char* base;
  const ondeloc_header& header() const { return *reinterpret_cast<const ondeloc_header*>(base); }
  ondeloc_slot& slot(int local) const {
    return reinterpret_cast<ondeloc_slot*>(base + header().slots_offset)[local];
  }
  ondeloc_cell& cell(int from, int to) const {
    auto* row = reinterpret_cast<ondeloc_cell*>(base + header().rows_offset +
                                                header().row_stride * static_cast<unsigned>(from));
    if (to < kRanks)
      used_cells_of(row, header().local_ranks, header().world_ranks)
          .mark(static_cast<unsigned>(to));
    return row[to];
  }
};

inline Rank attach(int fd) {
  struct stat info {};
  fstat(fd, &info);
  return {static_cast<char*>(mmap(nullptr, static_cast<std::size_t>(info.st_size),
                                  PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0))};
}

// The behaviour of a rank; the defaults are those of an ordinary rank.
struct Habit {
  std::uint32_t note = 0;    // ONDELOC_NOTE_*
  pid_t owner = 0;           // the process that it names as attached; 0: itself
  bool detaches = true;      // false: it ends as after a crash
  bool attaches = true;      // false: it is a program without MPI
  bool only_starts = false;  // it stays in MPI_Init
};

// Runs a rank: sends to rank `local ^ *partner_bit` until *partner_bit is negative, then detaches.
[[noreturn]] inline void be_rank(int fd, int local, const CpuSet& mask,
                                 const volatile int* partner_bit, const Habit& habit) {
  alarm(kLongestSeconds);
  if (!set_affinity(0, mask)) _exit(1);
  const TaskSlot task{static_cast<unsigned>(local), static_cast<unsigned>(local), getpid(),
                      process_start_time(getpid()), mask.words()};
  if (write_task_slot(fd, task) != 0) _exit(1);
  if (!habit.attaches) _exit(0);
  const Rank rank = attach(fd);
  if (habit.only_starts) {
    reinterpret_cast<ondeloc_header*>(rank.base)->mpi_starts = 1;
    while (*partner_bit >= 0) usleep(5000);
    _exit(0);
  }
  rank.slot(local).owner_pid = habit.owner != 0 ? habit.owner : getpid();
  rank.slot(local).notes = habit.note;
  rank.slot(local).rank_state = ONDELOC_RANK_ATTACHED;
  for (int bit; (bit = *partner_bit) >= 0; usleep(5000)) {
    if (bit == kOffNode && local > 1) continue;
    ondeloc_cell& cell = rank.cell(local, bit == kOffNode ? kRanks : local ^ bit);
    cell.bytes = cell.bytes + 20'000'000;  // enough for the model to see a gain
    cell.messages = cell.messages + 1;
  }
  if (habit.detaches) rank.slot(local).rank_state = ONDELOC_RANK_DETACHED;
  _exit(0);
}

// A step of kRanks processes with a real segment. Its destructor ends them and waits for them.
struct Step {
  UniqueFd segment;
  volatile int* partner_bit;
  std::vector<pid_t> pids;

  explicit Step(const std::vector<CpuSet>& masks,
                const std::vector<Habit>& habits = std::vector<Habit>(kRanks),
                int first_partner_bit = 1) {
    const std::vector<std::uint32_t> world = {0, 1, 2, 3};
    segment = std::move(*create_segment({kRanks, world, 17, 3, getuid(), getgid(), 1, 50}));
    partner_bit = static_cast<int*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    *partner_bit = first_partner_bit;
    for (int local = 0; local < kRanks; ++local) {
      const pid_t pid = fork();
      if (pid == 0)
        be_rank(segment.get(), local, masks[static_cast<std::size_t>(local)], partner_bit,
                habits[static_cast<std::size_t>(local)]);
      pids.push_back(pid);
    }
    // A mapper without a channel that finds no rank at first takes the step for over, so wait.
    const Rank all = attach(segment.get());
    for (int local = 0; local < kRanks; ++local)
      wait_until([&] { return all.slot(local).task_state == ONDELOC_TASK_READY; });
  }
  // True if every process has ended.
  bool is_over() const {
    for (const pid_t pid : pids) {
      siginfo_t info{};
      if (waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid == 0)
        return false;
    }
    return true;
  }
  ~Step() {
    *partner_bit = -1;
    for (const pid_t pid : pids) waitpid(pid, nullptr, 0);
  }
};

}  // namespace fake_step
