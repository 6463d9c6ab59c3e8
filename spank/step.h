// SPDX-License-Identifier: Apache-2.0
// What slurmstepd knows of the step it runs: one object per process, made in init_post_opt,
// inherited by every forked task. Ownership: the descriptors below are open until slurmstepd ends,
// unless a comment says otherwise; all but the segment in a task are CLOEXEC. Thread safety: used
// by the thread that runs the SPANK callbacks only; the listener knows nothing but the channel's
// number.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "mapcore/base/unique_fd.h"
#include "mapcore/options/options.h"

namespace ondeloc {

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

struct Step {
  bool watch = false;  // ranks are counted and a mapper runs: online, or static with report=
  bool bind = false;   // static: every task is bound before it execs
  bool asked = false;  // the user asked for it: failures are told to the user, not only logged
  std::string text;    // the option's value, as the mapper gets it
  Options options;
  SiteOptions site;
  std::string mapper;    // absolute path of ondeloc-mapper
  std::string rank_lib;  // absolute path of libondeloc_rank.so
  std::string pending;   // a sentence from before the user's terminal was connected

  // Another getpid() in user_init: contain_spank, a clone with a descriptor table of its own.
  pid_t stepd_pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint32_t job_id = 0;  // heterogeneous: of the first component, as the tasks see it
  std::uint32_t step_id = 0;
  std::uint32_t local_ranks = 0;
  std::uint32_t world_ranks = 0;  // of all components
  bool is_part = false;           // a component of a heterogeneous step
  std::uint32_t cpus_per_task = 1;

  UniqueFd segment;
  Pipe channel;  // records to the mapper. The read end stays open here too: no SIGPIPE, ever
  UniqueFd say;  // lines from the mapper, read end: end of file when it has ended
  Pipe token;    // holds one byte: the task that takes it tells the error of them all
  Pipe ended;    // empty until a task on this node begins to end the step
  bool listening = false;
  std::string no_events;     // why there is no listener though one was wanted; for the report
  std::uint32_t exited = 0;  // local tasks that have ended
};

Step& step();

}  // namespace ondeloc
