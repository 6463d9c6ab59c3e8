// SPDX-License-Identifier: Apache-2.0
#include "spank/task_cpus.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <span>

namespace ondeloc {
namespace {

using Words = std::array<std::uint64_t, CpuSet::kMaxCpu / 64>;

bool set_own_cpus(std::span<const std::uint64_t> words) {
  return syscall(SYS_sched_setaffinity, 0, words.size_bytes(), words.data()) == 0;
}

}  // namespace

// The system calls: glibc's cpu_set_t ends at 1024 CPUs.
CpuSet own_cpus() {
  Words words{};
  const long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(words), words.data());
  const std::size_t known = bytes > 0 ? static_cast<std::size_t>(bytes) / 8 : 0;
  return CpuSet::from_words(std::span(words).first(known));
}

bool has_all_cpus() {
  const CpuSet own = own_cpus();
  Words every;
  every.fill(~std::uint64_t{0});
  if (own.empty() || !set_own_cpus(every)) return false;
  const bool all = own_cpus() == own;
  return set_own_cpus(own.words()) && all;
}

}  // namespace ondeloc
