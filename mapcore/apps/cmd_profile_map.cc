// SPDX-License-Identifier: Apache-2.0
// ondeloc profile map: the static mapping of a recorded run.
#include <fmt/format.h>

#include "mapcore/apps/cmd_profile.h"
#include "mapcore/map/deloc.h"

namespace ondeloc::cli {
namespace {

struct ProfileMapOptions {
  ProfileOptions profile;
  MachineOptions machine;
  SlotOptions slots;
  ClusterOptions clusters;
  OutputOptions output;
  std::string algorithm;  // empty: offline_algorithm()
  std::string previous;
};

// Who else there is has no place in this mapping, and no number that a user could mean.
Status check_whole(const NodePart& part, const ProfileMapOptions& options) {
  if (part.ranks.empty()) return {};
  const char* given = !options.previous.empty()  ? "--previous"
                      : options.slots.ranks != 0 ? "--ranks"
                                                 : nullptr;
  if (given == nullptr) return {};
  return Error(
      fmt::format("{}: '{}' is of the {} ranks of node '{}' alone, which are mapped anew: "
                  "leave the option out",
                  given, options.profile.file, part.ranks.size(), part.node));
}

CommMatrix within(const NodePart& part, CommMatrix matrix) {
  return part.ranks.empty() ? std::move(matrix) : matrix.among(part.ranks);
}

// What the ranks of the node sent off it: to ranks of others in a profile, a sum in a report.
std::vector<double> off_node(const ProfileSource& source, const CommMatrix& matrix,
                             const NodePart& part) {
  std::vector<double> bytes = matrix.sent_beyond(part.ranks);
  if (const auto* report = std::get_if<ReportInput>(&source)) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto at = report->off_node.find(part.ranks[i]);
      if (at != report->off_node.end()) bytes[i] += at->second;
    }
  }
  return bytes;
}

// One group of concurrent pairs per cluster; of a report, which has no events, one group in all.
Result<std::vector<PairGroup>> groups_of(ProfileSource& source, ProfileMapOptions& options,
                                         const NodePart& part, const Traffic& whole) {
  auto* profile = std::get_if<ProfileReader>(&source);
  if (profile == nullptr || profile->blocks().empty())
    return std::vector<PairGroup>{pairs_of(whole)};
  const auto window = parse_window(options.profile.window, *profile);
  if (!window) return window.error();
  options.clusters.window = *window;
  const auto clusters = find_clusters(*profile, options.clusters, show_progress("clustering"));
  if (!clusters) return clusters.error();
  say_fewer(options.clusters, *clusters);
  std::vector<PairGroup> groups;
  for (const Cluster& cluster : clusters->clusters)
    groups.push_back(pairs_of(Traffic(within(part, cluster.matrix))));
  return groups;
}

Result<TimedMapping> compute(ProfileSource& source, ProfileMapOptions& options,
                             const NodePart& part, const Layout& layout, const Traffic& traffic) {
  const AlgorithmSpec spec = split_algorithm(options.algorithm);
  if (spec.name != "deloc") return run_algorithm(options.algorithm, layout, traffic);
  const auto groups = groups_of(source, options, part, traffic);
  if (!groups) return groups.error();
  return timed_mapping(options.algorithm, layout, traffic, [&](const MapRequest& request) {
    return map_deloc_groups(request, *groups, spec.argument);
  });
}

Result<std::string> run_map(ProfileMapOptions& options) {
  if (Status known = check_algorithm(options.algorithm); !known) return std::move(known).error();
  if (Status good = check_files({options.profile.file, options.previous}, options.machine,
                                options.output.output);
      !good)
    return std::move(good).error();
  if (Status good = check_format(options.output); !good) return std::move(good).error();
  const auto place = load_place(options.machine);
  if (!place) return place.error();
  auto source = open_source(options.profile.file);
  if (!source) return std::move(source).error();
  const auto part = part_of(*source, options.profile.file);
  if (!part) return part.error();
  if (Status whole = check_whole(*part, options); !whole) return std::move(whole).error();
  auto whole = source_matrix(*source, options.profile);
  if (!whole) return whole.error();
  std::vector<double> leaving = off_node(*source, *whole, *part);
  CommMatrix matrix = within(*part, *std::move(whole));
  SlotOptions slots = options.slots;
  slots.single_threads = is_lama(options.algorithm);
  auto layout = plan_layout(*place, options.machine, slots, matrix, options.previous);
  if (!layout) return layout.error();
  matrix.ranks = layout->ranks;
  options.algorithm = offline_algorithm(options.algorithm, layout->ranks);
  if (!part->ranks.empty()) {
    layout->names = {part->ranks, part->node};
    layout->off_node = std::move(leaving);
  }
  const Traffic traffic(matrix);
  const auto result = compute(*source, options, *part, *layout, traffic);
  if (!result) return result.error();
  return put_mapping(options.output, options.algorithm, *place, *layout, *result);
}

}  // namespace

void add_profile_map(CLI::App& profile, Job& job) {
  CLI::App* command = profile.add_subcommand("map", "the static mapping that fits the run");
  auto options = std::make_shared<ProfileMapOptions>();
  add_profile_file(*command, options->profile, true);
  add_profile_window(*command, options->profile);
  add_machine_options(*command, options->machine);
  add_slot_options(*command, options->slots);
  command
      ->add_option("-a,--algorithm", options->algorithm,
                   fmt::format("deloc takes the groups of concurrent pairs, all others the sum "
                               "matrix; see 'ondeloc algorithms' (default: {}, coordinated "
                               "from {} ranks on)",
                               kOfflineAlgorithm, kMostOfflineRanks + 1))
      ->check(not_empty());
  command
      ->add_option("-p,--previous", options->previous,
                   "the present mapping, our JSON or a rankfile")
      ->check(not_empty());
  add_cluster_options(*command, options->clusters);
  add_output_options(*command, options->output);
  command->footer(
      "Example:\n"
      "  ondeloc profile map app.prof -t host -f rankfile -o ranks.txt");
  command->callback([options, &job] { job = [options] { return run_map(*options); }; });
}

}  // namespace ondeloc::cli
