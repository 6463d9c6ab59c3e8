// SPDX-License-Identifier: Apache-2.0
// The command line of ondeloc-mapper: the contract between spank/ (which execs it, as the user) and
// mapcore/apps/mapper_main.cc. All values are text after the key; unknown keys are errors.
//
// Online (double-forked in task_init of local task 0):
//   ondeloc-mapper --segment FD --channel FD --say FD --options TEXT --node NAME
//                  [--topology T] [--min-interval MS] [--no-events WHY] [--test-switch NAME]...
//     --segment   the step's memfd, read-write
//     --channel   read end of the pipe that the listener and task_exit write records to
//                 (event_record.h); end of file means that slurmstepd is gone
//     --say       write end of a pipe that task_exit reads: at most 2 KiB of lines for the user,
//                 and its closing tells that the mapper has ended
//     --no-events a sentence for the report: nobody listens to the ranks' events, and why
//     --options   the user's option value, parsed again here
//   FDs 0, 1, 2 are /dev/null; the working directory is the step's. Always exits 0.
//
// Static (forked and waited for in task_init of every task):
//   ondeloc-mapper --bind FILE --rank R --local-rank L --ranks N --pid PID --node NAME
//                  --node-index K [--relative] [--topology T]
//   Environment: SLURM_CPU_BIND_TYPE and SLURM_CPU_BIND_LIST as the task has them.
//   Binds PID and exits 0; exit 1: the user's error, one sentence on standard error; anything else:
//   an internal failure, the step runs on unbound and the sentence is told.
#pragma once
