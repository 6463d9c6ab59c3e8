// SPDX-License-Identifier: Apache-2.0
// Settings that ondeloc-mapper makes for itself before it works. For the main thread, once.
#pragma once

namespace ondeloc {

// Freed memory stays with the process: the next interval needs it again. Returning it each time
// took a fifth of the mapper's CPU time for 128 ranks that all talk to all.
void keep_freed_memory();

// The mapper ends when the ranks have ended, so signals for the job pass it by. SIGXFSZ: a limit of
// file sizes becomes an error of write(2), like a full disk.
void ignore_job_signals();

// Slurm passes the user's limit on. A pidfd for each rank and, for a profile, some descriptors for
// each thread need more than the usual limit on large nodes.
void raise_descriptor_limit();

// When memory is short, the kernel ends the mapper before any rank, whose end would end the job.
void become_first_oom_victim();

// Has the kernel send SIGKILL to this process when the write end of the pipe `fd` is closed, even
// if the process is stopped: slurmstepd holds it until the end of the step. Nobody may write to the
// pipe. Other processes may do the same with the same pipe. Ends the process if the write end is
// closed already. False if the kernel refuses.
bool end_with_step(int fd);

// Forbids system calls that the mapper never needs: executing a program, opening a socket, tracing
// or reading another process's memory, and those that change the system. They fail with EPERM. What
// a hostile rank might make the mapper do by a defect in it ends there. Irrevocable. False if the
// kernel or the architecture has no filter; the mapper works without it.
bool forbid_unneeded_calls();

}  // namespace ondeloc
