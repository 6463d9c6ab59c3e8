// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/affinity.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>

namespace ondeloc {

// The raw system calls: glibc's cpu_set_t ends at 1024 CPUs.
Result<CpuSet> get_affinity(pid_t tid) {
  std::array<std::uint64_t, CpuSet::kMaxCpu / 64> words{};
  if (syscall(SYS_sched_getaffinity, tid, sizeof(words), words.data()) < 0) {
    return Error::from_errno("sched_getaffinity");
  }
  return CpuSet::from_words(words);
}

Status set_affinity(pid_t tid, const CpuSet& cpus) {
  const auto words = cpus.words();
  if (syscall(SYS_sched_setaffinity, tid, words.size_bytes(), words.data()) < 0) {
    return Error::from_errno("sched_setaffinity");
  }
  return {};
}

}  // namespace ondeloc
