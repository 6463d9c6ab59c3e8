// SPDX-License-Identifier: Apache-2.0
#include "spank/bind.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <csignal>

#include "spank/items.h"
#include "spank/tell.h"
#include "spank/trusted_file.h"

namespace ondeloc {
namespace {

constexpr int kUsersError = 1;  // exit status of ondeloc-mapper --bind
constexpr useconds_t kUntilExec = 50'000;

std::string text(std::uint32_t number) { return fmt::format("{}", number); }

Program bind_program(spank_t spank, const Step& step, const Task& task) {
  Program program = mapper_program(spank, step, task);
  program.arguments.insert(
      program.arguments.begin(),
      {"--bind", step.options.file, "--rank", text(task.world_rank), "--local-rank",
       text(task.local_rank), "--ranks", text(step.world_ranks), "--pid",
       text(static_cast<std::uint32_t>(getpid())), "--node-index", text(task.node_index)});
  if (step.options.relative) program.arguments.emplace_back("--relative");
  return program;
}

// True for the first task of the node that asks.
bool takes_token(const Step& step) {
  char byte = 0;
  return read(step.token.read.get(), &byte, 1) == 1;
}

// From Slurm 23.11 on there are flags behind the signal, of which zero is none.
template <class... Flags>
void kill_with(int (*kill_step)(std::uint32_t, std::uint32_t, std::uint16_t, Flags...),
               const Step& step) {
  if (kill_step != nullptr) kill_step(step.job_id, step.step_id, SIGKILL, Flags{}...);
}

// From Slurm 25.11 on job and step are one.
[[maybe_unused]] void kill_with(int (*kill_step)(slurm_step_id_t*, std::uint16_t, std::uint16_t),
                                const Step& step) {
  slurm_step_id_t id{};
  id.job_id = step.job_id;
  id.step_id = step.step_id;
  id.step_het_comp = NO_VAL;
  if (kill_step != nullptr) kill_step(&id, SIGKILL, 0);
}

bool step_ends(const Step& step) {
  pollfd ended{step.ended.read.get(), POLLIN, 0};
  return poll(&ended, 1, 0) == 1;
}

// The plugin does not link libslurm: slurmstepd has the function.
// Only programs are killed: proctrack/linuxproc passes over every process that still is slurmstepd.
// So tasks that have not come far see `ended` and go by themselves; the wait is for those past it.
void end_step(const Step& step) {
  const char byte = 0;
  (void)!write(step.ended.write.get(), &byte, 1);
  usleep(kUntilExec);
  kill_with(
      reinterpret_cast<decltype(&slurm_kill_job_step)>(dlsym(RTLD_DEFAULT, "slurm_kill_job_step")),
      step);
}

Status bind_or_end(spank_t spank, const Step& step, const Task& task) {
  auto outcome = run_and_wait(bind_program(spank, step, task));
  if (!outcome) return std::move(outcome).error();
  if (outcome->exit_status == 0) return {};
  const bool first = takes_token(step);
  const auto lines = clean_lines(outcome->sentence);
  const std::string sentence = lines.empty() ? "no reason given" : lines.front();
  if (outcome->exit_status != kUsersError) {
    // Not the first: it may well be that the first has ended the step, and with it our child.
    return first ? Status(Error("static: " + sentence)) : Status();
  }
  const bool fatal = step.options.on_error == OnError::kFail;
  if (first) tell(fatal ? sentence : sentence + "; the job runs on unbound");
  if (first && fatal) end_step(step);
  if (fatal) _exit(1);
  return {};
}

}  // namespace

Status bind_task(spank_t spank, const Step& step, const Task& task) {
  if (Status good = check_trusted_file(step.mapper, X_OK); !good) return good;
  Status bound = bind_or_end(spank, step, task);
  if (step_ends(step)) _exit(1);
  return bound;
}

}  // namespace ondeloc
