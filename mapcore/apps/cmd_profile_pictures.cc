// SPDX-License-Identifier: Apache-2.0
// ondeloc profile heatmap, timeline.
#include <fmt/format.h>

#include "mapcore/apps/cmd_profile.h"
#include "mapcore/picture/heat_map.h"
#include "mapcore/picture/timeline.h"

namespace ondeloc::cli {
namespace {

struct PictureOptions {
  ProfileOptions profile;
  MachineOptions machine;
  ClusterOptions clusters;
  std::string output;
  std::string title;
  std::string mapping;
  std::string scale = "log";
};

std::string title_of(const PictureOptions& options) {
  const std::string& file = options.profile.file;
  const std::string name = file.substr(file.rfind('/') + 1);
  std::string title = options.title.empty() ? name : options.title;
  if (!options.profile.window.empty()) title += ", seconds " + options.profile.window;
  return title;
}

// The ranks that a mapping of this recording must name: a node's part has a mapping of its own.
std::vector<int> ranks_of_part(const ProfileSource& source, const std::string& file) {
  const auto part = part_of(source, file);
  return part ? part->ranks : std::vector<int>();
}

// NUMA node (kernel's number) of every rank of a mapping file.
Result<std::vector<int>> nodes_of(const PictureOptions& options, const PlacedRanks& ranks) {
  const auto place = load_place(options.machine);
  if (!place) return place.error();
  const auto placement = read_placement(options.mapping, place->whole, place->usable, ranks);
  if (!placement) return placement.error();
  std::vector<int> nodes;
  for (const CpuSet& pus : *placement) {
    const auto node = static_cast<std::size_t>(make_slot(place->machine, pus).node.value);
    nodes.push_back(pus.empty() ? kOtherNodes : place->machine.nodes[node].os);
  }
  nodes.resize(static_cast<std::size_t>(ranks.count), kOtherNodes);
  return nodes;
}

Result<std::string> run_heat_map(const PictureOptions& options) {
  if (Status good =
          check_files({options.profile.file, options.mapping}, options.machine, options.output);
      !good)
    return std::move(good).error();
  auto source = open_source(options.profile.file);
  if (!source) return std::move(source).error();
  const auto matrix = source_matrix(*source, options.profile);
  if (!matrix) return matrix.error();
  HeatMapStyle style{title_of(options), options.scale == "log", {}};
  if (!options.mapping.empty()) {
    auto nodes =
        nodes_of(options, {matrix->ranks, false, ranks_of_part(*source, options.profile.file)});
    if (!nodes) return std::move(nodes).error();
    style.node_of_rank = *std::move(nodes);
  }
  if (Status drawn = draw_heat_map(*matrix, style, options.output); !drawn)
    return std::move(drawn).error();
  return std::string();
}

Result<std::string> run_timeline(PictureOptions& options) {
  if (Status good = check_output(options.profile.file, options.output); !good)
    return std::move(good).error();
  auto profile = open_profile(options.profile.file);
  if (!profile) return std::move(profile).error();
  const auto window = parse_window(options.profile.window, *profile);
  if (!window) return window.error();
  options.clusters.window = *window;
  const auto clusters = find_clusters(*profile, options.clusters, show_progress("clustering"));
  say_losses(*profile);
  if (!clusters) return clusters.error();
  say_fewer(options.clusters, *clusters);
  if (Status drawn = draw_timeline(*clusters, title_of(options), options.output); !drawn)
    return std::move(drawn).error();
  return std::string();
}

std::shared_ptr<PictureOptions> add_common(CLI::App& command, bool reports) {
  auto options = std::make_shared<PictureOptions>();
  add_profile_file(command, options->profile, reports);
  add_profile_window(command, options->profile);
  command
      .add_option("-o,--output", options->output,
                  "the picture, .svg or .png; - is standard output, as SVG")
      ->required();
  command.add_option("--title", options->title, "(default: the file's name)");
  return options;
}

}  // namespace

void add_profile_pictures(CLI::App& profile, Job& job) {
  CLI::App* heat = profile.add_subcommand("heatmap", "who sends how much to whom, as a picture");
  auto of_heat = add_common(*heat, true);
  heat->add_option("-m,--mapping", of_heat->mapping,
                   "sort the ranks by the NUMA nodes of this mapping (JSON or rankfile) and draw "
                   "the nodes' boundaries")
      ->check(not_empty());
  heat->add_option("--scale", of_heat->scale, "log or linear (default: log)")
      ->check(CLI::IsMember({"log", "linear"}));
  add_machine_options(*heat, of_heat->machine);
  heat->callback([of_heat, &job] { job = [=] { return run_heat_map(*of_heat); }; });
  CLI::App* time =
      profile.add_subcommand("timeline", "messages over time, coloured by cluster, as a picture");
  auto of_time = add_common(*time, false);
  add_cluster_options(*time, of_time->clusters);
  time->callback([of_time, &job] { job = [=] { return run_timeline(*of_time); }; });
}

}  // namespace ondeloc::cli
