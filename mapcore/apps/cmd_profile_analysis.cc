// SPDX-License-Identifier: Apache-2.0
// ondeloc profile metrics, clusters, classify.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "mapcore/apps/cmd_profile.h"
#include "mapcore/apps/overview.h"
#include "mapcore/apps/replayed_run.h"
#include "mapcore/apps/say.h"
#include "mapcore/apps/second_run.h"
#include "mapcore/base/json_text.h"
#include "mapcore/base/quantity.h"
#include "mapcore/profile/classify.h"
#include "mapcore/profile/memory_csv.h"
#include "mapcore/profile/metrics.h"
#include "mapcore/profile/node_part.h"
#include "mapcore/profile/window_matrix.h"

namespace ondeloc::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kLineWidth = 80;

struct AnalysisOptions {
  TrafficOptions profile;
  MetricOptions metrics;
  Thresholds thresholds;
  double interval_s = 1;
  std::string memory;
  std::string format = "text";
  MachineOptions machine;  // of a second run
};

struct Analysis {
  Clusters clusters;
  Metrics metrics;
  std::string memory;  // the source of MemV and DramV, or why there are none
  RankDrops dropped;
  std::vector<std::string> notes;  // the profile's without those in `memory`
};

Result<Clusters> cluster(ProfileReader& profile, AnalysisOptions& options) {
  const auto window = parse_window(options.profile.window, profile);
  if (!window) return window.error();
  options.metrics.clusters.window = *window;
  auto clusters = find_clusters(profile, options.metrics.clusters, show_progress("clustering"));
  say_losses(profile);  // damage is known after all has been read
  return clusters;
}

bool is_on_memory(const std::string& note) { return note.find("memory volumes: ") != note.npos; }

std::vector<std::string> other_notes(const ProfileReader& profile) {
  std::vector<std::string> notes;
  std::remove_copy_if(profile.notes().begin(), profile.notes().end(), std::back_inserter(notes),
                      is_on_memory);
  return notes;
}

std::string memory_source(const ProfileReader& profile, const AnalysisOptions& options) {
  if (!options.memory.empty()) return "memory volumes: " + options.memory;
  if (!covers_run(profile, options.metrics.clusters.window) && !profile.memory().empty())
    return "memory volumes: the profile holds those of the whole run, not of a window";
  std::string text;
  for (const std::string& note : profile.notes()) {
    if (is_on_memory(note)) text += (text.empty() ? "" : "; ") + note;
  }
  return text.empty() ? "memory volumes: none were recorded" : text;
}

Result<Analysis> analyse(ProfileReader& profile, AnalysisOptions& options) {
  if (Status whole = check_all_ranks(profile, options.profile.file); !whole)
    return std::move(whole).error();
  auto clusters = cluster(profile, options);
  if (!clusters) {
    // The notes may say why there is nothing.
    for (const std::string& note : other_notes(profile))
      if (!note.empty()) say(note);
    return std::move(clusters).error();
  }
  options.metrics.interval_ns = static_cast<std::uint64_t>(std::llround(options.interval_s * 1e9));
  if (!options.memory.empty()) {
    auto memory = read_memory_csv(options.memory, profile.ranks());
    if (!memory) return std::move(memory).error();
    options.metrics.memory = *std::move(memory);
  }
  const auto metrics =
      compute_metrics(profile, *clusters, options.metrics, show_progress("measuring"));
  if (!metrics) return metrics.error();
  return Analysis{*std::move(clusters), *metrics, memory_source(profile, options),
                  all_drops(profile), other_notes(profile)};
}

Json to_json(const std::optional<double>& value) { return value ? Json(*value) : Json(nullptr); }

Json metrics_json(const Analysis& found) {
  const Metrics& m = found.metrics;
  return {{"Lcomm", m.lcomm},
          {"CommR", to_json(m.comm_r)},
          {"CommC", m.comm_c},
          {"DramR", to_json(m.dram_r)},
          {"CommLoc", m.comm_loc},
          {"CommDyn", m.comm_dyn},
          {"compared", m.compared},
          {"intervals", m.intervals},
          {"interval_s", m.interval_s},
          {"memory", found.memory},
          {"clusters", found.clusters.clusters.size()},
          {"tasks", m.tasks},
          {"seconds", m.seconds},
          {"dropped_messages", found.dropped.events}};
}

std::string ratio_text(const std::optional<double>& value) {
  return value ? fmt::format("{:.6g}", *value) : std::string("unavailable  (give --memory FILE)");
}

std::string metrics_text(const Analysis& found) {
  const Metrics& m = found.metrics;
  return fmt::format(
      "Lcomm    {}  ({:.0f} bytes; a message counts at both its ends)\n"
      "CommR    {}\n"
      "CommC    {:.6g}  ({} clusters)\n"
      "DramR    {}\n"
      "CommLoc  {:.6g}\n"
      "CommDyn  {}  (changes in {} comparisons of {} intervals of {}{})\n"
      "{}\n",
      bytes_text(m.lcomm), m.lcomm, ratio_text(m.comm_r), m.comm_c, found.clusters.clusters.size(),
      ratio_text(m.dram_r), m.comm_loc, m.comm_dyn, m.compared, m.intervals,
      seconds_text(m.interval_s), m.compared < 2 ? ": too few, use a smaller --interval" : "",
      found.memory);
}

Result<std::string> run_metrics(AnalysisOptions& options) {
  auto profile = open_profile(options.profile.file);
  if (!profile) return std::move(profile).error();
  const auto found = analyse(*profile, options);
  if (!found) return found.error();
  if (options.format == "json") return json_text(metrics_json(*found));
  return metrics_text(*found);
}

// The verdict on online, for a program that has phases.
std::string online_text(TrafficSource& source, const AnalysisOptions& options) {
  ReplaySetup setup;
  setup.machine = options.machine;
  const auto replay = replay_source(setup, source, options.profile.file);
  if (!replay) return "";
  const std::string text = verdict(run_of(*replay, setup.loop));
  return wrapped("with --ondeloc=online: " + text, kLineWidth, 2) + "\n";
}

std::string why_no_prospect(const Error& error) {
  return "no gain is predicted: " + error.message();
}

std::string second_run_text(const Result<Prospect>& prospect) {
  if (prospect) return verdict_text(*prospect);
  return wrapped("verdict: " + why_no_prospect(prospect.error()), kLineWidth, 2) + "\n";
}

Result<std::string> run_classify(AnalysisOptions& options) {
  auto profile = open_profile(options.profile.file);
  if (!profile) return std::move(profile).error();
  TrafficSource source(*std::move(profile));
  const auto found = analyse(std::get<ProfileReader>(source), options);
  if (!found) return found.error();
  const Classification result = classify(found->metrics, options.thresholds);
  const auto prospect = predict_second_run(source, options.profile, options.machine);
  if (options.format == "json") {
    Json out = {{"class", to_string(result.kind)},
                {"reason", result.reason},
                {"advice", result.advice},
                {"rests_on", result.from_load ? "load" : "memory volumes"},
                {"dynamics", result.dynamics_unknown ? "unknown" : "compared"},
                {"published_class", to_string(result.published)}};
    out["verdict"] = prospect ? Json(verdict(*prospect)) : Json(nullptr);
    out["notes"] = found->notes;
    if (!prospect) out["notes"].push_back(why_no_prospect(prospect.error()));
    out["metrics"] = metrics_json(*found);
    return json_text(out);
  }
  // The class may depend on messages that were not recorded.
  std::string notes;
  for (const std::string& note : found->notes) notes += "note: " + note + "\n";
  const std::string sure =
      result.dynamics_unknown ? " (as far as one can tell)"
      : result.kind != result.published
          ? fmt::format(" ({} by the published count alone)", to_string(result.published))
          : "";
  return fmt::format("{}{}\n{}\n{}\n{}{}", to_string(result.kind), sure, result.reason,
                     result.advice, notes, second_run_text(prospect)) +
         (result.kind == MappingClass::kDynamic ? online_text(source, options) : "");
}

double seconds_from(std::uint64_t time_ns, const ProfileReader& profile) {
  return static_cast<double>(time_ns - profile.span().from_ns) * 1e-9;
}

Result<std::string> run_clusters(AnalysisOptions& options) {
  auto profile = open_profile(options.profile.file);
  if (!profile) return std::move(profile).error();
  const auto found = cluster(*profile, options);
  if (!found) return found.error();
  say_fewer(options.metrics.clusters, *found);
  Json out = Json::array();
  std::string text = fmt::format("{:>3}  {:>12}  {:>12}  {:>10}  {:>10}  {:>6}  {:>7}\n", "#",
                                 "from s", "to s", "messages", "bytes", "ranks", "pairs");
  for (std::size_t c = 0; c < found->clusters.size(); ++c) {
    const Cluster& one = found->clusters[c];
    const double from = seconds_from(one.time.from_ns, *profile);
    const double to = seconds_from(one.time.to_ns, *profile);
    const std::size_t pairs = Traffic(one.matrix).pairs();
    out.push_back({{"from", from},
                   {"to", to},
                   {"messages", one.messages},
                   {"bytes", one.bytes},
                   {"ranks", one.tasks},
                   {"pairs", pairs}});
    text += fmt::format("{:>3}  {:>12.6f}  {:>12.6f}  {:>10}  {:>10}  {:>6}  {:>7}\n", c + 1, from,
                        to, one.messages, bytes_text(one.bytes), one.tasks, pairs);
  }
  return options.format == "json" ? json_text(out) : text;
}

std::shared_ptr<AnalysisOptions> add_common(CLI::App& command) {
  auto options = std::make_shared<AnalysisOptions>();
  add_profile_file(command, options->profile);
  add_window(command, options->profile);
  add_cluster_options(command, options->metrics.clusters);
  command.add_option("-f,--format", options->format, "text or json (default: text)")
      ->check(CLI::IsMember({"text", "json"}));
  return options;
}

void add_metric_options(CLI::App& command, AnalysisOptions& options) {
  add_quantity(command, "-i,--interval", options.interval_s, Quantity::kSeconds, 1e-6, 1e6,
               "interval of CommDyn (default: 1s, as published)");
  command
      .add_option("--memory", options.memory,
                  "memory volumes, lines rank,accessed_bytes[,dram_bytes]: for CommR and DramR")
      ->check(not_empty());
}

void add_thresholds(CLI::App& command, Thresholds& thresholds) {
  constexpr const char* kGroup = "Thresholds";
  command
      .add_option("--commr", thresholds.comm_r,
                  "CommR below this is low (default: 0.01: under one percent of all accessed "
                  "bytes, placement cannot matter)")
      ->check(finite(0, 1e300))
      ->group(kGroup);
  command
      .add_option("--dramr", thresholds.dram_r,
                  "DramR below this is low (default: 0.05: one access in twenty reaches DRAM)")
      ->check(finite(0, 1e300))
      ->group(kGroup);
  command
      .add_option(
          "--commdyn", thresholds.comm_dyn,
          "CommDyn above this may be dynamic, where a change of the pattern lasts (default: 2; "
          "by this value alone seven of the eight programs of the NPB get their published class)")
      ->check(finite(0, 1e300))
      ->group(kGroup);
  add_quantity(
      command, "--load", thresholds.load_rate, Quantity::kBytesPerSecond, 0, 1e18,
      "without memory volumes: Lcomm per rank below this is non-mapping (default: 1MB/s: a "
      "thousandth of a core's share of memory bandwidth)")
      ->group(kGroup);
}

}  // namespace

void add_profile_analysis(CLI::App& profile, Job& job) {
  CLI::App* metrics = profile.add_subcommand("metrics", "the metrics of DeLocProf");
  auto of_metrics = add_common(*metrics);
  add_metric_options(*metrics, *of_metrics);
  metrics->footer(examples({"ondeloc profile metrics app.prof -f json"}));
  metrics->callback([of_metrics, &job] { job = [=] { return run_metrics(*of_metrics); }; });
  CLI::App* clusters = profile.add_subcommand("clusters", "when messages came together");
  auto of_clusters = add_common(*clusters);
  clusters->footer(examples({"ondeloc profile clusters app.prof --bins 400"}));
  clusters->callback([of_clusters, &job] { job = [=] { return run_clusters(*of_clusters); }; });
  CLI::App* kind = profile.add_subcommand(
      "classify", "whether static, dynamic or no mapping fits the application");
  auto of_kind = add_common(*kind);
  add_metric_options(*kind, *of_kind);
  add_thresholds(*kind, of_kind->thresholds);
  add_machine_options(*kind, of_kind->machine);
  kind->footer(examples({"ondeloc profile classify app.prof",
                         "ondeloc profile classify app.prof -t 'numa:2 core:4 pu:1'"}));
  kind->callback([of_kind, &job] { job = [=] { return run_classify(*of_kind); }; });
}

}  // namespace ondeloc::cli
