// SPDX-License-Identifier: Apache-2.0
#include "spank/mapper.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "spank/farewell.h"
#include "spank/items.h"
#include "spank/task_cpus.h"

namespace ondeloc {
namespace {

// From the task's environment; the rest of it is the application's business.
constexpr const char* kPassedOn[] = {"HOME", "TMPDIR", "TZ", "SLURM_CPU_BIND_TYPE",
                                     "SLURM_CPU_BIND_LIST"};
constexpr std::size_t kLongestList = 1 << 20;  // masks of 8192 tasks

std::string text(std::uint32_t number) { return fmt::format("{}", number); }

// The union of the tasks' masks: all CPUs that Slurm has given the step here, as far as a task can
// know. Without task/affinity nobody is bound, and the own mask is all there is.
CpuWords step_cpus(spank_t spank) {
  const std::string type = job_env(spank, "SLURM_CPU_BIND_TYPE").value_or("");
  const std::string list = job_env(spank, "SLURM_CPU_BIND_LIST", kLongestList).value_or("");
  CpuWords cpus = own_cpus();
  if (type.starts_with("mask_cpu")) cpus = join(std::move(cpus), cpus_of_masks(list));
  return cpus;
}

}  // namespace

Program mapper_program(spank_t spank, const Step& step, const Task& task) {
  Program program;
  program.path = step.mapper;
  program.arguments = {"--node", task.node};
  if (!step.site.topology.empty())
    program.arguments.insert(program.arguments.end(), {"--topology", step.site.topology});
  program.environment = {"PATH=/usr/bin:/bin", "LC_ALL=C"};
  for (const char* name : kPassedOn) {
    const auto value = job_env(spank, name, kLongestList);
    if (value) program.environment.push_back(fmt::format("{}={}", name, *value));
  }
  return program;
}

Status start_mapper(spank_t spank, const Step& step, const Task& task) {
  Program program = mapper_program(spank, step, task);
  const int segment = step.segment.get();
  const int channel = step.channel.read.get();
  const UniqueFd say_end(
      open(fmt::format("/proc/self/fd/{}", step.say.get()).c_str(), O_WRONLY | O_CLOEXEC));
  if (!say_end.valid()) return Error::from_errno("pipe of the mapper");
  const int say = say_end.get();
  const auto number = [](int fd) { return text(static_cast<std::uint32_t>(fd)); };
  program.arguments.insert(
      program.arguments.end(),
      {"--segment", number(segment), "--channel", number(channel), "--say", number(say),
       "--options", step.text, "--min-interval", text(step.site.min_interval_ms)});
  for (const std::string& name : step.site.test_switches)
    program.arguments.insert(program.arguments.end(), {"--test-switch", name});
  if (!step.no_events.empty())
    program.arguments.insert(program.arguments.end(), {"--no-events", step.no_events});
  program.kept = {segment, channel, say};
  program.cpus = step_cpus(spank);
  if (write(say, &kMapperStarted, 1) != 1) return Error::from_errno("pipe of the mapper");
  return start_detached(program);
}

}  // namespace ondeloc
