// SPDX-License-Identifier: Apache-2.0
#include "spank/mapper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>

#include "mapcore/options/mapper_messages.h"

#include "spank/spank_items.h"
#include "spank/task_cpus.h"

namespace ondeloc {
namespace {

// From the task's environment; the rest of it concerns the application.
constexpr const char* kPassedOn[] = {"HOME", "TMPDIR", "TZ"};
constexpr std::size_t kLongestList = 1 << 20;  // masks of 8192 tasks

// The union of the tasks' masks: all CPUs that Slurm has given the step on this node, as far as a
// task can know. Without task/affinity nobody is bound, and the task knows its own mask only.
CpuSet step_cpus(spank_t spank) {
  const CpuBind bind = cpu_bind_of_task(spank);
  CpuSet cpus = own_cpus();
  if (!bind.type.starts_with("mask_cpu")) return cpus;
  const auto listed = CpuSet::parse_mask_list(bind.list);
  return listed ? cpus | *listed : cpus;
}

MapperArguments arguments_of(spank_t spank, const Step& step, const Task& task, int messages_fd) {
  MapperArguments call;
  call.segment_fd = step.fds.segment.get();
  call.channel_fd = step.fds.channel.read.get();
  call.messages_fd = messages_fd;
  call.kill_switch_fd = step.fds.kill_switch.read.get();
  call.node = task.node;
  call.partition = job_env(spank, "SLURM_JOB_PARTITION").value_or("");
  // The batch script of a requeued job has it, and its steps inherit it.
  const auto restarts = job_env_number(spank, "SLURM_RESTART_COUNT");
  if (restarts && *restarts > 0 && *restarts <= INT32_MAX)
    call.restarts = static_cast<int>(*restarts);
  call.rank_library = step.request.rank_library;
  call.options = step.request.text;
  call.topology = step.request.site.topology;
  call.machine = step.request.site.machine;
  if (step.request.reports_to_site()) call.report_dir = step.request.site.report_dir;
  call.min_interval_ms = step.request.site.min_interval_ms;
  call.oom = step.request.site.oom;
  call.log = step.request.site.log;
  call.no_events = step.state.no_events;
  call.test_switches = step.request.site.test_switches;
  return call;
}

}  // namespace

CpuBind cpu_bind_of_task(spank_t spank) {
  return {job_env(spank, "SLURM_CPU_BIND_TYPE").value_or(""),
          job_env(spank, "SLURM_CPU_BIND_LIST", kLongestList).value_or("")};
}

Program mapper_program(spank_t spank, const Step& step, ProgramWords words) {
  Program program;
  program.path = step.request.mapper_path;
  program.arguments = std::move(words.arguments);
  program.environment = std::move(words.environment);
  program.environment.insert(program.environment.end(), {"PATH=/usr/bin:/bin", "LC_ALL=C"});
  for (const char* name : kPassedOn) {
    const auto value = job_env(spank, name);
    if (value) program.environment.push_back(fmt::format("{}={}", name, *value));
  }
  return program;
}

Program check_program(spank_t spank, const Step& step, const Task& task) {
  MapperArguments call;
  call.segment_fd = step.fds.segment.get();
  call.node = task.node;
  call.options = step.request.text;
  call.check_only = true;
  Program program = mapper_program(spank, step, call.to_words());
  program.kept = {call.segment_fd};
  return program;
}

Status start_mapper(spank_t spank, const Step& step, const Task& task) {
  const UniqueFd messages(
      open(fmt::format("/proc/self/fd/{}", step.fds.messages.get()).c_str(), O_WRONLY | O_CLOEXEC));
  if (!messages.valid()) return Error::from_errno("pipe of the mapper");
  const MapperArguments call = arguments_of(spank, step, task, messages.get());
  Program program = mapper_program(spank, step, call.to_words());
  program.kept = {call.segment_fd, call.channel_fd, call.messages_fd, call.kill_switch_fd};
  program.cpus = step_cpus(spank);
  program.errors = messages.get();
  if (write(messages.get(), &kMapperStarted, 1) != 1)
    return Error::from_errno("pipe of the mapper");
  return start_detached(program);
}

}  // namespace ondeloc
