// SPDX-License-Identifier: Apache-2.0
// Whether a process outside a task is the rank of that task. Container runtimes such as podman
// start the program from a process of their own, which is not a descendant of the task. The
// environment of the task tells the step and the rank, and a container passes the environment on.
// Thread safety: no state.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

namespace ondeloc {

// True if both processes were started with the same values of the variables that name the job, the
// step and the rank in Slurm and in PMIx, and of ONDELOC_STEP. All of them have to be there, so
// that a process of another step, or of another rank, is never taken for this one. False if one
// environment cannot be read or is longer than 1 MiB. /proc shows the environment as it was when
// the program was started. `root`: of a made-up /proc, for tests.
bool is_same_rank(pid_t pid, pid_t task, const std::string& root = "");

// The same for two texts in the form of /proc/PID/environ: "NAME=value", each ended by a zero byte.
bool name_same_rank(std::string_view environment, std::string_view of_task);

}  // namespace ondeloc
