// SPDX-License-Identifier: Apache-2.0
// Reads about other processes of the same user from /proc. If a process is gone, a function returns
// an empty optional: that is never an error to report. Thread safety: no state. `root` lets tests
// read a made-up tree.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mapcore/base/cpu_set.h"

namespace ondeloc {

struct ProcessStat {
  pid_t parent = 0;
  std::uint64_t start = 0;  // clock ticks after boot, field 22 of /proc/pid/stat
  bool over = false;        // ended, but not reaped by its parent yet
  std::uint64_t used = 0;   // clock ticks of CPU time, those of ended threads included
  PuOs cpu{-1};             // that the main thread ran on last; -1: unknown
};

std::optional<ProcessStat> read_process_stat(pid_t pid, const std::string& root = "");

struct ThreadStat {
  pid_t tid = 0;
  std::uint64_t start = 0;  // clock ticks after boot
  std::uint64_t used = 0;   // clock ticks of CPU time
  PuOs cpu{-1};             // that it ran on last; -1: unknown
};
// The threads `tids` of a process in the order in which it created them, the main thread first: the
// kernel counts ids upwards, except when they start again from below. A thread that has ended
// counts as the first to start.
std::vector<ThreadStat> in_order_of_creation(pid_t pid, std::span<const pid_t> tids,
                                             const std::string& root = "");
std::optional<uid_t> read_process_uid(pid_t pid, const std::string& root = "");
// Bytes of memory that only this process maps: they would move with it. Memory that several ranks
// map (windows of MPI_Win_allocate_shared, the MPI library's segments, libraries) is not counted:
// the kernel leaves such pages where they are, and the resident set of each rank has all of them.
std::optional<std::uint64_t> read_private_bytes(pid_t pid, const std::string& root = "");
// Bytes of such memory in huge pages, from /proc/PID/smaps_rollup; 0 before Linux 4.14. The kernel
// walks all page tables of the process for it.
std::uint64_t read_huge_bytes(pid_t pid, const std::string& root = "");
std::vector<pid_t> read_threads(pid_t pid, const std::string& root = "");

// True when `pid` is `ancestor` or descends from it, within a bounded number of steps.
bool descends_from(pid_t pid, pid_t ancestor, const std::string& root = "");

// A small file of /proc or /sys, at most `limit` bytes.
std::optional<std::string> read_small_file(const std::string& path, std::size_t limit = 65536);

}  // namespace ondeloc
