// SPDX-License-Identifier: Apache-2.0
// The line about machine and versions that every benchmark prints first, and the benchmarks' clock.
#pragma once

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>

namespace ondeloc::bench {

inline std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  }
  return "unknown CPU";
}

inline void print_machine() {
  utsname names{};
  uname(&names);
  fmt::print("{}, {} CPUs, Linux {}, gcc {}\n", cpu_name(), sysconf(_SC_NPROCESSORS_ONLN),
             names.release, __VERSION__);
}

// CPU time of this thread.
inline std::uint64_t cpu_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

inline double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace ondeloc::bench
