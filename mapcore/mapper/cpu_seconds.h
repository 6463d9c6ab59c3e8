// SPDX-License-Identifier: Apache-2.0
// The CPU time of this process. Thread safety: pure functions.
#pragma once

#include <sys/resource.h>

namespace ondeloc {

// Seconds that all threads of this process have run, in the kernel too.
inline double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

}  // namespace ondeloc
