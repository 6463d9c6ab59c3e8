// SPDX-License-Identifier: Apache-2.0
#include "spank/bind.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mapcore/devices/gpu_use.h"
#include "mapcore/devices/nic_plan.h"

#include "spank/nic.h"
#include "spank/spank_items.h"
#include "spank/trusted_file.h"
#include "spank/user_log.h"

namespace ondeloc {
namespace {

constexpr useconds_t kUntilExec = 50'000;

std::string device_variables(spank_t spank) {
  std::vector<const char*> names = nic_variables();
  for (const std::string_view name : gpu_variables()) names.push_back(name.data());
  std::set<std::string> lines;  // several libraries may share a variable
  for (const char* name : names) {
    const auto value = job_env(spank, name);
    if (value && value->find('\n') == value->npos) lines.insert(fmt::format("{}={}", name, *value));
  }
  return fmt::format("{}", fmt::join(lines, "\n"));
}

Program bind_program(spank_t spank, const Step& step, const Task& task) {
  BindArguments call;
  call.file = step.request.options.file;
  call.rank = static_cast<int>(task.world_rank);
  call.ranks = static_cast<int>(step.identity.world_ranks);
  call.pid = getpid();
  call.local_rank = static_cast<int>(task.local_rank);
  call.local_ranks = static_cast<int>(step.identity.local_ranks);
  call.node = task.node;
  call.node_index = static_cast<int>(task.node_index);
  call.cpus_per_task = step.identity.cpus_per_task;
  call.relative = step.request.options.relative;
  call.topology = step.request.site.topology;
  CpuBind bind = cpu_bind_of_task(spank);
  call.cpu_bind_type = std::move(bind.type);
  call.cpu_bind_list = std::move(bind.list);
  call.nodes = static_cast<int>(job_env_number(spank, "SLURM_STEP_NUM_NODES").value_or(1));
  call.nic = nic_in_force(step);
  call.device_variables = device_variables(spank);
  call.kill_switch_fd = step.fds.kill_switch.read.get();
  Program program = mapper_program(spank, step, call.to_words());
  program.kept = {call.kill_switch_fd};
  return program;
}

// From Slurm 23.11 on flags follow the signal; 0 stands for no flag.
template <class... Flags>
void kill_with(int (*kill_step)(std::uint32_t, std::uint32_t, std::uint16_t, Flags...),
               const StepIdentity& id) {
  if (kill_step != nullptr) kill_step(id.world_job_id, id.step_id, SIGKILL, Flags{}...);
}

// From Slurm 25.11 on one struct holds the ids of job and step.
[[maybe_unused]] void kill_with(int (*kill_step)(slurm_step_id_t*, std::uint16_t, std::uint16_t),
                                const StepIdentity& id) {
  slurm_step_id_t whole{};
  whole.job_id = id.world_job_id;
  whole.step_id = id.step_id;
  whole.step_het_comp = NO_VAL;
  if (kill_step != nullptr) kill_step(&whole, SIGKILL, 0);
}

bool is_step_ending(const Step& step) {
  pollfd ending{step.fds.ending.read.get(), POLLIN, 0};
  return poll(&ending, 1, 0) == 1;
}

// The plugin does not link libslurm: slurmstepd has the function. proctrack/linuxproc kills no
// process that still executes slurmstepd. So a task that has yet to look at `ending` exits by
// itself, and the wait lets the tasks that have looked execute their program.
void end_step(const Step& step) {
  const char byte = 0;
  (void)!write(step.fds.ending.write.get(), &byte, 1);
  usleep(kUntilExec);
  kill_with(
      reinterpret_cast<decltype(&slurm_kill_job_step)>(dlsym(RTLD_DEFAULT, "slurm_kill_job_step")),
      step.identity);
}

// If the program finds an error of the user's, the step ends, or with on-error=warn it runs on.
Status run_or_end(const Step& step, const Program& program) {
  auto outcome = run_and_wait(program);
  if (!outcome) return std::move(outcome).error();
  const auto lines = clean_lines(outcome->sentence);
  if (outcome->exit_status == static_cast<int>(MapperExit::kDone)) {
    if (!lines.empty() && take_token(step.fds.warning_token)) log_to_user(lines.front().text);
    return {};
  }
  const std::string sentence = lines.empty() ? "no reason given" : lines.front().text;
  if (outcome->exit_status != static_cast<int>(MapperExit::kUserError)) {
    const std::string mode(mode_name(step.request.options.mode));
    return Error(mode + ": " + sentence);
  }
  const bool first = take_token(step.fds.error_token);
  const bool fatal = step.request.options.on_error == OnError::kFail;
  if (first) log_to_user(fatal ? sentence : sentence + "; the job runs on unbound");
  if (first && fatal) end_step(step);
  if (fatal) _exit(1);
  return {};
}

}  // namespace

Status bind_task(spank_t spank, const Step& step, const Task& task) {
  if (Status good = check_trusted_file(step.request.mapper_path, X_OK); !good) return good;
  Status bound = run_or_end(step, bind_program(spank, step, task));
  // Another task may have ended the step, and with it this task's child.
  if (is_step_ending(step)) _exit(1);
  return bound;
}

Status check_profile(spank_t spank, const Step& step, const Task& task) {
  Status good;
  if (task.local_rank == 0) {
    good = check_trusted_file(step.request.mapper_path, X_OK);
    if (good) good = run_or_end(step, check_program(spank, step, task));
  }
  if (is_step_ending(step)) _exit(1);
  return good;
}

}  // namespace ondeloc
