// SPDX-License-Identifier: Apache-2.0
// What the mapper reads of other processes of the same user from /proc, and of the step from its
// cgroup. Every function copes with a process that is gone: an empty optional, never an error to
// report. Thread safety: no state. `root` lets tests read a made-up tree.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mapcore/base/cpu_set.h"

namespace ondeloc {

struct ProcessStat {
  pid_t parent = 0;
  std::uint64_t start = 0;  // clock ticks after boot, field 22 of /proc/pid/stat
  bool over = false;        // ended, its parent has not looked yet
};

std::optional<ProcessStat> read_process_stat(pid_t pid, const std::string& root = "");
std::optional<uid_t> read_process_uid(pid_t pid, const std::string& root = "");
// Memory that is the process's alone and would move with it. Not what several ranks map (windows of
// MPI_Win_allocate_shared, the MPI library's segments, libraries): the kernel leaves such pages
// where they are, and each of n ranks has all of them in its resident set.
std::optional<std::uint64_t> read_private_bytes(pid_t pid, const std::string& root = "");
std::vector<pid_t> read_threads(pid_t pid, const std::string& root = "");

// True when `pid` is `ancestor` or descends from it, within a bounded number of steps.
bool descends_from(pid_t pid, pid_t ancestor, const std::string& root = "");

struct StepCpuset {
  CpuSet cpus;            // effective CPUs of the cgroup that holds the process
  bool enforced = false;  // Slurm confined the step's cgroup: the kernel keeps it inside `cpus`
};

// cgroup v2 (cpuset.cpus.effective of the nearest ancestor that has it) or v1 (cpuset controller).
// Empty when there is no cpuset controller.
std::optional<StepCpuset> read_step_cpuset(pid_t pid, const std::string& root = "");

// A small file of /proc or /sys, at most `limit` bytes.
std::optional<std::string> read_small_file(const std::string& path, std::size_t limit = 65536);

}  // namespace ondeloc
