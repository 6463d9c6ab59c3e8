// SPDX-License-Identifier: Apache-2.0
// ondeloc heatmap, which is ondeloc profile heatmap too, and ondeloc profile timeline.
#include <fmt/format.h>

#include "mapcore/apps/cmd_profile.h"
#include "mapcore/apps/overview.h"
#include "mapcore/base/read_file.h"
#include "mapcore/base/text.h"
#include "mapcore/input/placement_source.h"
#include "mapcore/input/report_run.h"
#include "mapcore/picture/heat_map.h"
#include "mapcore/picture/timeline.h"

namespace ondeloc::cli {
namespace {

struct PictureOptions {
  TrafficOptions profile;
  MachineOptions machine;
  ClusterOptions clusters;
  std::string output;
  std::string title;
  std::string mapping;
  std::string scale = "log";
};

// Empty if the file does not tell a job.
std::string run_text(std::uint64_t job, std::uint64_t step, const std::string& node) {
  return job == 0 ? "" : step_name(job, step, node);
}

std::string job_of(const ProfileReader& profile) {
  const auto& header = profile.header();
  return run_text(header.job, header.step, header.nodes > 1 ? "" : header.node);
}

std::string job_of(const TrafficSource& source) {
  if (const auto* profile = std::get_if<ProfileReader>(&source)) return job_of(*profile);
  const auto* report = std::get_if<ReportInput>(&source);
  return report == nullptr ? "" : run_text(report->job, report->step, report->node);
}

std::string title_of(const PictureOptions& options, const std::string& run) {
  const std::string file = options.profile.file == "-" ? name_of_input("-") : options.profile.file;
  const std::string name = file.substr(file.rfind('/') + 1);
  std::string title = options.title;
  if (title.empty()) title = run.empty() ? name : name + ", " + run;
  if (!options.profile.window.empty()) title += ", " + options.profile.window;
  return title;
}

// The ranks that a mapping of this file must name: those of the recorded node.
std::vector<int> ranks_of_part(const TrafficSource& source, const std::string& file) {
  const auto part = part_of(source, file);
  return part ? part->ranks : std::vector<int>();
}

struct RankPlaces {
  std::vector<int> node;   // kernel's number of the NUMA node
  std::vector<int> cache;  // last-level cache
};

// The places of every rank of a mapping file.
Result<RankPlaces> places_of(const PictureOptions& options, const PlacedRanks& ranks) {
  const auto choice = load_machine_choice(options.machine);
  if (!choice) return choice.error();
  const auto placement = read_placement(options.mapping, choice->whole, choice->usable, ranks);
  if (!placement) return placement.error();
  const auto count = static_cast<std::size_t>(ranks.count);
  RankPlaces places{std::vector<int>(count, kOtherNodes), std::vector<int>(count, -1)};
  const RankNames names{ranks.needed};
  for (std::size_t i = 0; i < placement->size(); ++i) {
    const auto rank = static_cast<std::size_t>(names.of(i));
    const Slot slot = make_slot(choice->machine, (*placement)[i]);
    places.node[rank] = choice->machine.nodes[slot.node].os;
    places.cache[rank] = slot.seat.llc.value;
  }
  return places;
}

// Bytes that each rank sent to other nodes; empty for a part of the run, whose sums are not known.
std::vector<double> off_node_of(const TrafficSource& source, const std::string& window, int ranks) {
  if (!window.empty()) return {};
  std::vector<double> bytes(static_cast<std::size_t>(ranks));
  const auto put = [&](std::size_t rank, double sum) {
    if (rank < bytes.size()) bytes[rank] = sum;
  };
  if (const auto* report = std::get_if<ReportInput>(&source)) {
    for (const auto& [rank, sum] : report->off_node) put(static_cast<std::size_t>(rank), sum);
  } else if (const auto* profile = std::get_if<ProfileReader>(&source)) {
    for (const PairTotal& total : profile->totals())
      if (total.src == total.dst) put(total.src, static_cast<double>(total.bytes));
  }
  return bytes;
}

Result<std::string> run_heat_map(const PictureOptions& options) {
  if (Status good =
          check_files({options.profile.file, options.mapping}, options.machine, options.output);
      !good)
    return std::move(good).error();
  auto source = open_traffic(options.profile.file);
  if (!source) return std::move(source).error();
  const auto matrix = source_matrix(*source, options.profile);
  if (!matrix) return matrix.error();
  HeatMapStyle style{title_of(options, job_of(*source)), options.scale == "log", {}, {}, {}};
  style.off_node = off_node_of(*source, options.profile.window, matrix->ranks);
  if (!options.mapping.empty()) {
    auto places =
        places_of(options, {matrix->ranks, false, ranks_of_part(*source, options.profile.file)});
    if (!places) return std::move(places).error();
    style.node_of_rank = std::move(places->node);
    style.cache_of_rank = std::move(places->cache);
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
  if (Status drawn = draw_timeline(*clusters, profile->span().from_ns,
                                   title_of(options, job_of(*profile)), options.output);
      !drawn)
    return std::move(drawn).error();
  return std::string();
}

void add_picture(CLI::App& command, PictureOptions& options) {
  add_window(command, options.profile);
  command
      .add_option("-o,--output", options.output,
                  "the picture, .svg or .png; - is standard output, as SVG")
      ->required();
  command.add_option("--title", options.title, "(default: the file's name, job, step and node)");
}

void add_timeline(CLI::App& parent, Job& job) {
  CLI::App* command =
      parent.add_subcommand("timeline", "messages over time, coloured by cluster, as a picture");
  auto options = std::make_shared<PictureOptions>();
  add_profile_file(*command, options->profile);
  add_picture(*command, *options);
  add_cluster_options(*command, options->clusters);
  command->footer(examples({"ondeloc profile timeline app.prof -o time.svg"}));
  command->callback([options, &job] { job = [options] { return run_timeline(*options); }; });
}

}  // namespace

void add_heatmap_command(CLI::App& parent, Job& job) {
  CLI::App* command = parent.add_subcommand("heatmap", "draw who sends how much to whom");
  auto options = std::make_shared<PictureOptions>();
  add_traffic(*command, options->profile, "")->required();
  add_picture(*command, *options);
  command
      ->add_option("-m,--mapping", options->mapping,
                   "sort the ranks by the NUMA nodes and caches of this mapping (JSON, rankfile or "
                   "report) and draw the boundaries")
      ->check(not_empty());
  command->add_option("--scale", options->scale, "log or linear (default: log)")
      ->check(CLI::IsMember({"log", "linear"}));
  add_machine_options(*command, options->machine);
  command->footer(examples({"ondeloc heatmap app.prof -o heat.svg",
                            "ondeloc heatmap report.json --mapping report.json -o heat.png"}));
  command->callback([options, &job] { job = [options] { return run_heat_map(*options); }; });
}

void add_heatmap(CLI::App& app, Job& job) { add_heatmap_command(app, job); }

void add_profile_pictures(CLI::App& profile, Job& job) {
  add_heatmap_command(profile, job);
  add_timeline(profile, job);
}

}  // namespace ondeloc::cli
