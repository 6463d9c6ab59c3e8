// SPDX-License-Identifier: Apache-2.0
// ondeloc map, which is ondeloc profile map too: the static mapping that fits the traffic.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "mapcore/apps/cmd_profile.h"
#include "mapcore/apps/overview.h"
#include "mapcore/apps/say.h"
#include "mapcore/base/ids.h"
#include "mapcore/base/read_file.h"
#include "mapcore/base/text.h"
#include "mapcore/map/deloc.h"

namespace ondeloc::cli {
namespace {

struct MapOptions {
  TrafficOptions traffic;
  MachineOptions machine;
  SlotOptions slots;
  ClusterOptions clusters;
  OutputOptions output;
  std::string algorithm;  // empty: offline_algorithm()
  std::string previous;
  std::optional<int> rank;  // whose threads the profile has
};

// Makes one group of concurrent pairs per cluster. A file without single messages has one group in
// all.
Result<std::vector<PairGroup>> groups_of(TrafficSource& source, MapOptions& options,
                                         const NodePart& part, const Traffic& whole) {
  auto* profile = std::get_if<ProfileReader>(&source);
  if (profile == nullptr || profile->blocks().empty())
    return std::vector<PairGroup>{pairs_of(whole)};
  const auto window = parse_window(options.traffic.window, *profile);
  if (!window) return window.error();
  options.clusters.window = *window;
  const auto clusters = find_clusters(*profile, options.clusters, show_progress("clustering"));
  if (!clusters) return clusters.error();
  say_fewer(options.clusters, *clusters);
  std::vector<PairGroup> groups;
  for (const Cluster& cluster : clusters->clusters)
    groups.push_back(
        pairs_of(Traffic(part.ranks.empty() ? cluster.matrix : cluster.matrix.among(part.ranks))));
  return groups;
}

Result<TimedMapping> compute(TrafficSource& source, MapOptions& options, const NodePart& part,
                             const Layout& layout, const Traffic& traffic) {
  const AlgorithmSpec spec = split_algorithm(options.algorithm);
  if (spec.name != "deloc") return run_algorithm(options.algorithm, layout, traffic);
  const auto groups = groups_of(source, options, part, traffic);
  if (!groups) return groups.error();
  return timed_mapping(options.algorithm, layout, traffic, [&](const MapRequest& request) {
    return map_deloc_groups(request, *groups, spec.argument);
  });
}

int cpus_per_task(const TrafficSource& source, const MapOptions& options,
                  const MachineChoice& choice, int ranks) {
  if (options.slots.cpus_per_task > 0 || !options.previous.empty() || is_lama(options.algorithm))
    return options.slots.cpus_per_task;
  return recorded_cpus_per_task(source, options.traffic.file, choice, ranks);
}

Result<std::string> run_map(MapOptions& options) {
  if (Status known = check_algorithm(options.algorithm); !known) return std::move(known).error();
  if (Status good = check_files({options.traffic.file, options.previous}, options.machine,
                                options.output.output);
      !good)
    return std::move(good).error();
  if (Status good = check_format(options.output); !good) return std::move(good).error();
  const auto choice = load_machine_choice(options.machine);
  if (!choice) return choice.error();
  auto source = open_traffic(options.traffic.file);
  if (!source) return std::move(source).error();
  auto work = read_workload(*source, options.traffic);
  if (!work) return std::move(work).error();
  if (Status good = check_ranks_of_part(work->part, options.slots.ranks, options.traffic.file);
      !good)
    return std::move(good).error();
  if (options.rank && !work->names.threads_of)
    return Error(
        fmt::format("--rank: '{}' is not a profile of threads (ondeloc threads record); leave the "
                    "option out",
                    options.traffic.file));
  SlotOptions slots = options.slots;
  slots.single_threads = is_lama(options.algorithm);
  slots.cpus_per_task =
      cpus_per_task(*source, options, *choice, std::max(work->matrix.ranks, slots.ranks));
  auto layout = plan_layout(*choice, options.machine, slots, work->matrix, options.previous,
                            work->part.ranks);
  if (!layout) return layout.error();
  work->matrix.ranks = layout->ranks;
  options.algorithm = offline_algorithm(options.algorithm, layout->ranks);
  layout->names = work->names;
  if (options.rank) layout->names.threads_of = options.rank;
  layout->off_node = std::move(work->off_node);
  const Traffic traffic(work->matrix);
  const auto result = compute(*source, options, work->part, *layout, traffic);
  if (!result) return result.error();
  return put_mapping(options.output, options.algorithm, *choice, *layout, *result);
}

}  // namespace

void add_map_command(CLI::App& parent, Job& job) {
  CLI::App* command = parent.add_subcommand("map", "compute where each rank should run");
  auto options = std::make_shared<MapOptions>();
  add_traffic(*command, options->traffic, "-m,--matrix")->required();
  add_window(*command, options->traffic);
  add_machine_options(*command, options->machine);
  add_slot_options(*command, options->slots, kRecordedCpus);
  command
      ->add_option("-a,--algorithm", options->algorithm,
                   fmt::format("see 'ondeloc algorithms'; of a profile deloc takes the groups of "
                               "concurrent pairs, all others the sum (default: {}, which searches "
                               "longer than coordinated does while a job runs; coordinated from {} "
                               "ranks on)",
                               kOfflineAlgorithm, kMostOfflineRanks + 1))
      ->check(not_empty());
  add_previous_option(
      *command, "-p,--previous", options->previous,
      "the present mapping (JSON of 'ondeloc map', a rankfile or a report): its CPUs and idle ones "
      "are the slots, and coordinated moves ranks only for a gain");
  command
      ->add_option("--rank", options->rank,
                   "of a profile of threads: the rank of the step that has these threads, for a "
                   "rankfile (default: 0)")
      ->check(CLI::Range(0, kMaxWorldRank));
  add_cluster_options(*command, options->clusters);
  add_output_options(*command, options->output);
  command->footer(examples({"ondeloc map app.prof -f rankfile -o ranks.txt",
                            "srun --ondeloc=static:ranks.txt ./app",
                            "ondeloc map -t node.xml --cpuset 0-3 bytes.mat",
                            "srun --cpu-bind=$(ondeloc map bytes.mat -f cpu-bind) ./app"}));
  command->callback([options, &job] { job = [options] { return run_map(*options); }; });
}

void add_map(CLI::App& app, Job& job) { add_map_command(app, job); }

}  // namespace ondeloc::cli
