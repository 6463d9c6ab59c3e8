// SPDX-License-Identifier: Apache-2.0
// Processes that have attached as ranks and do nothing, and how much a thread reads.
#pragma once

#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "mapcore/segment/segment_create.h"
#include "mapcore/segment/segment_view.h"

namespace ondeloc {

class WaitingRanks {
 public:
  // `owner`: whom they give as the process that attached; 0: themselves.
  // `life`: what they do; it does not return.
  explicit WaitingRanks(const std::vector<std::vector<std::uint64_t>>& masks, pid_t owner = 0,
                        void (*life)() = wait_for_end)
      : segment_(make_segment(static_cast<std::uint32_t>(masks.size()))),
        view_(*SegmentView::open(segment_.get())) {
    const std::uint64_t size = view_.header().segment_size;
    auto* base = static_cast<char*>(
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, segment_.get(), 0));
    auto* slots = reinterpret_cast<ondeloc_slot*>(base + view_.header().slots_offset);
    for (std::uint32_t rank = 0; rank < masks.size(); ++rank) {
      const pid_t pid = fork();
      if (pid == 0) life();
      pids_.push_back(pid);
      write_task_slot(segment_.get(),
                      {rank, rank, pid, process_start_time(pid), std::span(masks[rank])});
      slots[rank].owner_pid = owner != 0 ? owner : pid;
      slots[rank].rank_state = ONDELOC_RANK_ATTACHED;
    }
    munmap(base, size);
  }
  ~WaitingRanks() {
    for (const pid_t pid : pids_) kill(pid, SIGKILL);
    for (const pid_t pid : pids_) waitpid(pid, nullptr, 0);
  }
  WaitingRanks(const WaitingRanks&) = delete;
  WaitingRanks& operator=(const WaitingRanks&) = delete;

  [[noreturn]] static void wait_for_end() {
    for (;;) pause();
  }
  const SegmentView& view() const { return view_; }
  pid_t pid(std::size_t rank) const { return pids_[rank]; }

 private:
  static UniqueFd make_segment(std::uint32_t ranks) {
    std::vector<std::uint32_t> world(ranks);
    std::iota(world.begin(), world.end(), 0U);
    return *create_segment(
        {.world_ranks = ranks, .world_of_local = world, .uid = getuid(), .gid = getgid()});
  }

  UniqueFd segment_;
  SegmentView view_;
  std::vector<pid_t> pids_;
};

// Calls of read(2) by this thread so far, -1 where the kernel does not count them.
inline long reads_so_far() {
  std::ifstream io("/proc/thread-self/io");
  std::string name;
  long count = 0;
  while (io >> name >> count) {
    if (name == "syscr:") return count;
  }
  return -1;
}

// Calls of read(2) that `work` makes.
inline long reads_in(const std::function<void()>& work) {
  const long first = reads_so_far();
  const long second = reads_so_far();  // looking takes reads too
  work();
  return reads_so_far() - second - (second - first);
}

}  // namespace ondeloc
