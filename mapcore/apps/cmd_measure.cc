// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include "mapcore/apps/cli.h"
#include "mapcore/apps/overview.h"
#include "mapcore/apps/say.h"
#include "mapcore/base/new_file.h"
#include "mapcore/binding/affinity.h"
#include "mapcore/binding/cgroup.h"
#include "mapcore/binding/memory.h"
#include "mapcore/measure/measure.h"
#include "mapcore/topology/load.h"

namespace ondeloc::cli {
namespace {

struct MeasureCommand {
  std::string output;
  double seconds = kMeasureSeconds;
};

Result<std::string> run_measure(const MeasureCommand& command) {
  // Opened first: the user is not to wait for the measurement to learn that the place is wrong.
  auto output = NewFile::create(command.output.empty() ? "-" : command.output);
  if (!output) return std::move(output).error();
  output->put_off();  // a user may end the measurement with Ctrl-C
  if (const std::string policy = other_memory_policy(); !policy.empty())
    return Error(
        fmt::format("measure: this process has the memory policy {}, so memory does not lie where "
                    "a CPU touches it first; run ondeloc measure without numactl, and in a job "
                    "with srun --mem-bind=none",
                    policy));
  const auto mask = get_affinity(0);
  if (!mask) return Error(mask.error()).within("measure");
  const auto whole = load_machine("host");
  if (!whole) return whole.error();
  // Without ConstrainCores, Slurm confines a job by its mask alone.
  const Machine machine = restrict_machine(*whole, whole->allowed & *mask);
  if (machine.pus.size() < 2)
    return Error(
        "measure: this process may use one CPU only; run ondeloc measure with all CPUs of the "
        "node");
  MeasureOptions options;
  options.seconds = command.seconds;
  options.progress = [](const std::string& what) { say(fmt::format("measuring {}", what)); };
  options.free_on = room_on_node;
  options.may_use_memory = [](int node) { return may_use_memory_of(node); };
  options.free_in_cgroup = [] { return read_cgroup_room(getpid()); };
  options.cpu_quota = read_cpu_quota(getpid());
  const auto file = measure_machine(*whole, machine, options);
  if (!file) return Error(file.error()).within("measure");
  for (const std::string& note : file->notes) say(note);
  if (Status wrote = output->write(to_json(*file)); !wrote) return std::move(wrote).error();
  if (Status written = output->commit(); !written) return std::move(written).error();
  return std::string();
}

}  // namespace

void add_measure(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand(
      "measure", "measure latencies and bandwidths of this machine for --machine");
  auto options = std::make_shared<MeasureCommand>();
  command
      ->add_option("-o,--output", options->output,
                   "write the machine file here (default: -, standard output)")
      ->check(not_empty());
  command
      ->add_option("--seconds", options->seconds,
                   fmt::format("time for all measurements, at most (default: {})", kMeasureSeconds))
      ->check(finite(1, 600));
  command->footer(examples({"srun -N1 --exclusive ondeloc measure -o node.json"}));
  command->callback([options, &job] { job = [options] { return run_measure(*options); }; });
}

}  // namespace ondeloc::cli
