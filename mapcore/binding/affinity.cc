// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/affinity.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <span>

namespace ondeloc {

// The raw system calls: glibc's cpu_set_t ends at 1024 CPUs.
Result<CpuSet> get_affinity(pid_t tid) {
  std::array<std::uint64_t, CpuSet::kMaxCpu / 64> words;
  const long bytes = syscall(SYS_sched_getaffinity, tid, sizeof(words), words.data());
  if (bytes < 0) return Error::from_errno("sched_getaffinity");
  // The kernel writes whole words, as many as it can have CPUs.
  return CpuSet::from_words(std::span(words).first(static_cast<std::size_t>(bytes) / 8));
}

Status set_affinity(pid_t tid, const CpuSet& cpus) {
  const auto words = cpus.words();
  if (syscall(SYS_sched_setaffinity, tid, words.size_bytes(), words.data()) < 0) {
    return Error::from_errno("sched_setaffinity");
  }
  return {};
}

}  // namespace ondeloc
