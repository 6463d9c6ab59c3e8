// SPDX-License-Identifier: Apache-2.0
// Runs a program under QEMU with the plugin of threads, and records what its threads read of each
// other. Ctrl-C reaches the program. SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 are passed on to it unless
// this process ignores them: if they end it, what was counted until then is recorded. Thread safety:
// one call in a process, because of the signals.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "mapcore/base/result.h"

namespace ondeloc {

struct FollowOptions {
  std::vector<std::string> command;  // the program and its arguments
  std::string output;
  std::uint64_t table_bytes = 256U << 20;  // of lines that are followed, 16 bytes each
  std::uint64_t llc_bytes = 32U << 20;
  std::uint32_t sample = 1;
  double tell_every_s = 10;  // 0: never
};

struct Followed {
  std::uint32_t threads = 0;
  std::uint64_t bytes = 0, events = 0;
  double seconds = 0;
  int status = 0;  // of waitpid(2)
};

using Tell = std::function<void(const std::string& sentence)>;

Result<Followed> follow_threads(const FollowOptions& options, const Tell& tell);

}  // namespace ondeloc
