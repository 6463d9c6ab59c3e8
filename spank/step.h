// SPDX-License-Identifier: Apache-2.0
// The plugin's record of the step in slurmstepd. init_post_opt fills it; every forked task inherits
// it.
// Thread safety: for the thread that runs the SPANK callbacks; the listener shares the
// descriptor of the channel and the energy meter, which any thread may use.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mapcore/base/unique_fd.h"
#include "mapcore/devices/device.h"
#include "mapcore/options/options.h"

#include "spank/energy_meter.h"

namespace ondeloc {

// The wishes of user and site.
struct Request {
  bool watch = false;  // ranks are counted and a mapper runs: online, profile, static with report=
  bool bind = false;   // static: every task is bound before it executes the application
  bool user_requested = false;  // failures are told to the user, not only to slurmd's log
  std::string text;             // the option's value, as the mapper gets it
  Options options;
  SiteOptions site;
  std::string mapper_path;
  std::string rank_library;

  // A profile that cannot be written is an error at the start of the step.
  bool needs_profile() const {
    return options.mode == Mode::kProfile && options.on_error == OnError::kFail;
  }
  // The step writes a report that its user did not ask for.
  bool reports_to_site() const {
    return options.mode == Mode::kOnline && options.report.empty() && !site.report_dir.empty();
  }
};

struct StepIdentity {
  // user_init sees another getpid() under contain_spank: a clone with its own descriptor table.
  pid_t stepd_pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::uint32_t job_id = 0;  // Slurm's own; of a heterogeneous job: this component's
  // The first component's id, by which components know each other. The user chooses it, because it
  // comes from the job's environment: it must not reach a log of the administrator.
  std::uint32_t world_job_id = 0;
  std::uint32_t step_id = 0;
  std::uint32_t local_ranks = 0;
  std::uint32_t world_ranks = 0;  // of all components
  bool is_component = false;      // of a heterogeneous step
  std::uint32_t cpus_per_task = 1;
};

struct Pipe {
  UniqueFd read;
  UniqueFd write;
};

// Open until slurmstepd ends. All are CLOEXEC, but for the segment in a task.
struct Descriptors {
  UniqueFd segment;
  Pipe channel;       // records to the mapper. slurmstepd keeps the read end, so no SIGPIPE comes
  UniqueFd messages;  // text from the mapper, read end; at end of file the mapper has ended
  // Each holds one byte: the task that reads it speaks for all tasks of the node, of an error of
  // the user's, of a warning, or of a failure of ours.
  Pipe error_token, warning_token, failure_token;
  Pipe ending;  // empty until a task on this node begins to end the step
  // Never written. When slurmstepd closes the write end, the kernel ends what is left of a mapper
  // and of the processes that bind threads.
  Pipe kill_switch;
};

struct StepState {
  std::string pending;  // a sentence from before the user's terminal was connected
  bool listening = false;
  std::string no_events;           // for the report: why there is no listener
  std::uint32_t exited_tasks = 0;  // on this node
  // The adapters of this node, as far as nic= needs them; empty: user_init has not looked.
  std::optional<std::vector<Device>> adapters;
  EnergyMeter energy;  // started before the first task executes its program
};

struct Step {
  Request request;
  StepIdentity identity;
  Descriptors fds;
  StepState state;
};

// True for the first task of the node that calls it.
bool take_token(const Pipe& token);

// The one step of this process. entry.cc hands it to the callbacks.
Step& the_step();

}  // namespace ondeloc
