// SPDX-License-Identifier: Apache-2.0
// Starting ondeloc-mapper from a task that is about to exec. All that allocates happens before the
// fork; the children call async-signal-safe functions only. They run as the user, get an
// environment of their own (no PMIX_*, OMPI_*, LD_*), and no descriptor but the ones named here.
// Thread safety: for the one thread of a forked task.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mapcore/base/result.h"

namespace ondeloc {

struct Program {
  std::string path;                      // argv[0] too
  std::vector<std::string> arguments;    // without argv[0]
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<int> kept;                 // descriptors that stay open, under their numbers, all > 2
  std::vector<std::uint64_t> cpus;  // affinity to take, empty: as it is; bit b of word w: 64 w + b
};

// Double fork: the caller's exec leaves no child behind that the application could wait for. The
// program ignores the signals that Slurm forwards to a job, and has a process group of its own: it
// ends when the ranks have ended.
Status start_detached(const Program& program);

struct Outcome {
  int exit_status = -1;  // -1: it did not exit by itself
  std::string sentence;  // first line of its standard error
};
// Waits for it, at most 30 s (then it is killed, and the sentence says so), and for no other child.
Result<Outcome> run_and_wait(const Program& program);

}  // namespace ondeloc
