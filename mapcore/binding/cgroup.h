// SPDX-License-Identifier: Apache-2.0
// Reads the cgroups of a process: the CPUs of its step, the memory and the CPU time that its limits
// leave, and the share of its memory in huge pages. Knows versions 1 and 2. If a process is gone, a
// function returns an empty optional: that is never an error to report. Thread safety: no state.
// `root` lets tests read a made-up tree.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

#include "mapcore/base/cpu_set.h"

namespace ondeloc {

struct StepCpuset {
  CpuSet cpus;            // effective CPUs of the cgroup that holds the process
  bool enforced = false;  // Slurm confined the step's cgroup: the kernel keeps it inside `cpus`
};

// cgroup v2 (cpuset.cpus.effective of the nearest ancestor that has it) or v1 (cpuset controller).
// Empty when there is no cpuset controller.
std::optional<StepCpuset> read_step_cpuset(pid_t pid, const std::string& root = "");

// Bytes that a process can still take before the memory limit of its cgroup, or of a cgroup above,
// makes the kernel kill or slow it: memory.max and memory.high, or memory.limit_in_bytes of version
// 1. Clean file cache that the kernel drops first counts as free. Empty: there is no limit.
std::optional<std::uint64_t> read_cgroup_room(pid_t pid, const std::string& root = "");

// The CPU time that the cgroup of a process, and those above it, may use in a second: 1.5 is that
// of one and a half CPUs. From cpu.max, or cpu.cfs_quota_us of version 1. Empty: there is no quota.
std::optional<double> read_cpu_quota(pid_t pid, const std::string& root = "");

// The share of the anonymous memory that is in huge pages, in the nearest cgroup of the process
// that counts it, up to the step's: the cgroup of its task if Slurm makes these. The kernel keeps
// these sums and walks no page table. Empty: no such cgroup has the memory controller.
std::optional<double> read_huge_share_of_cgroup(pid_t pid, const std::string& root = "");

}  // namespace ondeloc
