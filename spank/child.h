// SPDX-License-Identifier: Apache-2.0
// Starts ondeloc-mapper from a task that is about to execute the application. The task allocates
// before it forks; its children call async-signal-safe functions only. A child runs as the user,
// with its own environment (no PMIX_*, OMPI_*, LD_*) and no descriptors but those named here.
// Thread safety: for the one thread of a forked task.
#pragma once

#include <string>
#include <vector>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/result.h"

namespace ondeloc {

struct Program {
  std::string path;                      // argv[0] too
  std::vector<std::string> arguments;    // without argv[0]
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<int> kept;                 // descriptors that stay open, under their numbers; all > 2
  CpuSet cpus;                           // affinity to take, empty: as it is
  int errors = -1;                       // becomes standard error; -1: /dev/null
};

// Forks twice, so that the application does not get a child that it could wait for. The program
// ignores the signals that Slurm forwards to a job and has its own process group: it ends when the
// ranks have ended.
Status start_detached(const Program& program);

struct Outcome {
  int exit_status = -1;  // -1: the program did not exit by itself
  std::string sentence;  // first line of its standard error
};
// Runs the program and waits for that child only. After 30 s it kills the child, and the sentence
// says so.
Result<Outcome> run_and_wait(const Program& program);

}  // namespace ondeloc
