// SPDX-License-Identifier: Apache-2.0
// The contract between the plugin, which executes ondeloc-mapper as the user, and ondeloc-mapper:
// its two forms of call and its exit status. mapper_messages.h holds what it answers.
//
// Every user of a node can read the command line of every process, but only the process's own user
// can read its environment. So a value that names a user's file or repeats a user's text travels
// in a variable; the rest stands on the command line, where an administrator sees it in ps.
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/options/options.h"

namespace ondeloc {

enum class MapperExit {
  kDone = 0,
  kUserError = 1,     // of a bind or check call: the user's file is wrong
  kInternalError = 2  // anything else; the step goes on
};

// A call as execve takes it, both without argv[0] and in parse() with variables of others.
struct ProgramWords {
  std::vector<std::string> arguments;    // the name of the form, then "--key=value"
  std::vector<std::string> environment;  // "NAME=value"
};

// "watch": one process per node and step, detached from local task 0 in task_init. Descriptors 0
// to 2 are /dev/null, the working directory is the step's. Always exits with kDone.
struct MapperArguments {
  static constexpr const char* kForm = "watch";

  int segment_fd = -1;   // the step's memfd, read-write. Required
  int channel_fd = -1;   // read end of the records; end of file: slurmstepd has ended
  int messages_fd = -1;  // write end of the pipe that takes encode_messages()
  // Read end of a pipe that nobody writes to. When slurmstepd closes the write end at the end of
  // the step, the kernel kills the mapper.
  int kill_switch_fd = -1;
  std::string node;
  std::string options;   // the user's value of --ondeloc, parsed again. Required
  std::string topology;  // empty: the host
  std::string machine;   // the site's machine file; empty: none
  // The site's directory for a report that the user did not ask for; empty: none is written.
  std::string report_dir;
  std::string partition;     // of the job, for the report
  int restarts = -1;         // of a requeued job, for the report; -1: none
  std::string rank_library;  // path on the node; a container may hide it
  std::uint32_t min_interval_ms = SiteOptions().min_interval_ms;
  OomPolicy oom = SiteOptions().oom;
  SiteLog log = SiteLog::kNone;
  std::string no_events;  // why nobody receives events, for the report; empty: somebody does
  std::vector<std::string> test_switches;
  // Only looks whether the profile can be written, writes nothing and ends with kUserError and one
  // line on standard error if not. Run and waited for before the other call.
  bool check_only = false;

  ProgramWords to_words() const;
  // Unknown, repeated, malformed and missing keys are errors.
  static Result<MapperArguments> parse(const ProgramWords& words);
};

// "bind": binds one task as a rankfile or a layout of lama says. Run and waited for in task_init of
// every task. The first line on standard error says why the exit status is not kDone; with kDone it
// is a warning.
struct BindArguments {
  static constexpr const char* kForm = "bind";

  std::string file;  // or a layout (is_layout()); required, as are rank, ranks and pid
  int rank = -1;     // in MPI_COMM_WORLD
  int ranks = -1;    // of the step
  int pid = -1;
  int local_rank = -1;  // of the tasks on this node; for a layout only, as local_ranks
  int local_ranks = -1;
  std::string node;
  int node_index = -1;  // among the nodes of the step
  std::uint32_t cpus_per_task = 1;
  bool relative = false;
  std::string topology;
  std::string cpu_bind_type;  // SLURM_CPU_BIND_TYPE of the task, may be empty
  std::string cpu_bind_list;  // SLURM_CPU_BIND_LIST
  int nodes = -1;             // of the step
  std::string nic;            // the choice in force: the user's, else the site's; "off": none
  // "NAME=value", one a line: the variables of the task that choose adapters or give it GPUs.
  std::string device_variables;
  int kill_switch_fd = -1;  // as of a watch call: ends the process that stays for the threads

  ProgramWords to_words() const;
  static Result<BindArguments> parse(const ProgramWords& words);
};

// The form that main was called with, "" without one, and everything that parse() needs.
ProgramWords program_words(int argc, const char* const* argv, const char* const* environment);

}  // namespace ondeloc
