// SPDX-License-Identifier: Apache-2.0
// The GPUs that a process of the same user uses. Sources are asked in turn until one names a GPU:
//
//   kfd     AMD's driver counts the memory that each process has on each GPU: exact
//   fdinfo  the drivers amdgpu, i915, xe and nouveau tell in /proc/PID/fdinfo which PCI device an
//           open file belongs to, and how much of its memory the process has. If memory is told,
//           only the GPUs with memory count
//   open    render nodes and /dev/nvidiaN that the process has open. CUDA opens every GPU that it
//           can see, so these are candidates; a UUID or PCI address in CUDA_VISIBLE_DEVICES narrows
//           them. The minor number of a device is never taken for CUDA's ordinal: they differ
//   nvml    if several of NVIDIA's GPUs are candidates: those on which NVIDIA's driver tells a
//   context
//           of the process, see mapper/nvml.h. Only the mapper asks; the driver's answer counts if
//           it covers all candidates and names only candidates
//   slurm   no GPU is open, but Slurm or the user gave the process some: by UUID or PCI address
//           these, else all GPUs of the node are candidates
//
// Candidates on several NUMA nodes mean that the GPU is not known. Thread safety: no state. `root`
// lets tests read a made-up tree.
#pragma once

#include <sys/types.h>

#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mapcore/devices/device.h"
#include "mapcore/devices/process_environment.h"

namespace ondeloc {

struct GpuUse {
  std::vector<std::size_t> gpus;  // positions in the list of devices, ascending
  const char* source = "";        // as above; empty: the process uses no GPU
  // An open device is not one of the list, or Slurm gave GPUs that the list does not have.
  bool unlisted = false;
  bool any() const { return unlisted || !gpus.empty(); }
  friend bool operator==(const GpuUse& a, const GpuUse& b) {
    return a.gpus == b.gpus && a.unlisted == b.unlisted;
  }
};

// NVIDIA's GPUs by PCI address, and the processes that use them.
struct NvidiaProcesses {
  std::set<std::string> gpus;                 // those of which all processes are known
  std::map<pid_t, std::set<std::string>> of;  // the GPUs of each process
};
// Null if it cannot be known. Called only if the answer matters.
using AskNvidia = std::function<const NvidiaProcesses*()>;

// `environment`: of the process, environment_of().
GpuUse gpus_of_process(pid_t pid, Environment environment, std::span<const Device> devices,
                       const std::string& root = "", const AskNvidia& ask_nvidia = {});

// The GPUs that a process with this environment is given, before it opens any: source slurm.
GpuUse gpus_given_by(Environment environment, std::span<const Device> devices,
                     const std::string& root = "");
// The variables that gpus_given_by() looks at.
std::span<const std::string_view> gpu_variables();

// The number of files that the process has open, 0 if the kernel does not tell (before Linux 6.2).
// While it is the same, gpus_of_process() need not be asked again.
std::size_t open_files_of(pid_t pid, const std::string& root = "");

// The CPUs that are near all GPUs of `use`: the intersection. Empty if a locality is unknown or
// the GPUs are not near the same CPUs.
CpuSet near_gpus(const GpuUse& use, std::span<const Device> devices);

}  // namespace ondeloc
