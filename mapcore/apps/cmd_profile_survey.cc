// SPDX-License-Identifier: Apache-2.0
// ondeloc profile survey: metrics and classes of several profiles side by side.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

#include "mapcore/apps/cmd_profile.h"
#include "mapcore/apps/overview.h"
#include "mapcore/base/json_text.h"
#include "mapcore/base/quantity.h"
#include "mapcore/picture/bars.h"
#include "mapcore/profile/classify.h"
#include "mapcore/profile/metrics.h"
#include "mapcore/profile/node_part.h"

namespace ondeloc::cli {
namespace {

struct SurveyOptions {
  std::vector<std::string> files;
  ClusterOptions clusters;
  double interval_s = 1;
  std::string format = "text";
  std::string output;  // of the picture; empty: none
};

struct Surveyed {
  std::string name;
  Metrics metrics;
  Classification kind;
};

using Figure = std::optional<double> (*)(const Metrics&);
struct SurveyColumn {
  const char* name;
  Figure figure;
};

// In the order of the thesis' figure 2.7.
constexpr SurveyColumn kColumns[] = {
    {"Lcomm", [](const Metrics& m) -> std::optional<double> { return m.lcomm; }},
    {"CommR", [](const Metrics& m) { return m.comm_r; }},
    {"CommC", [](const Metrics& m) -> std::optional<double> { return m.comm_c; }},
    {"DramR", [](const Metrics& m) { return m.dram_r; }},
    {"CommLoc", [](const Metrics& m) -> std::optional<double> { return m.comm_loc; }},
    {"CommDyn",
     [](const Metrics& m) -> std::optional<double> { return static_cast<double>(m.comm_dyn); }},
};

Result<Surveyed> survey_one(const std::string& file, const SurveyOptions& options) {
  auto profile = open_profile(file);
  if (!profile) return std::move(profile).error();
  if (Status whole = check_all_ranks(*profile, file); !whole) return std::move(whole).error();
  MetricOptions wanted;
  wanted.clusters = options.clusters;
  wanted.clusters.window = profile->span();
  wanted.interval_ns = static_cast<std::uint64_t>(std::llround(options.interval_s * 1e9));
  const auto clusters = find_clusters(*profile, wanted.clusters, show_progress("clustering"));
  say_losses(*profile);
  if (!clusters) return Error(clusters.error()).within(file);
  const auto metrics = compute_metrics(*profile, *clusters, wanted, show_progress("measuring"));
  if (!metrics) return Error(metrics.error()).within(file);
  return Surveyed{file.substr(file.rfind('/') + 1), *metrics, classify(*metrics)};
}

std::string cell_text(const SurveyColumn& column, const Metrics& metrics) {
  const auto value = column.figure(metrics);
  if (!value) return "unavailable";
  return &column == kColumns ? bytes_text(*value) : fmt::format("{:.4g}", *value);
}

std::string survey_text(const std::vector<Surveyed>& all) {
  std::string text = fmt::format("{:<16}", "profile");
  for (const SurveyColumn& column : kColumns) text += fmt::format(" {:>11}", column.name);
  text += "  class (published count alone)\n";
  for (const Surveyed& one : all) {
    text += fmt::format("{:<16}", one.name);
    for (const SurveyColumn& column : kColumns)
      text += fmt::format(" {:>11}", cell_text(column, one.metrics));
    text += fmt::format("  {} ({}{})\n", to_string(one.kind.kind), to_string(one.kind.published),
                        one.kind.dynamics_unknown ? ", as far as one can tell" : "");
  }
  return text;
}

std::string survey_json(const std::vector<Surveyed>& all) {
  nlohmann::ordered_json out = nlohmann::json::array();
  for (const Surveyed& one : all) {
    nlohmann::ordered_json entry = {{"profile", one.name}};
    for (const SurveyColumn& column : kColumns) {
      const auto value = column.figure(one.metrics);
      entry[column.name] = value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json();
    }
    entry["class"] = to_string(one.kind.kind);
    entry["published_class"] = to_string(one.kind.published);
    entry["dynamics"] = one.kind.dynamics_unknown ? "unknown" : "compared";
    entry["rests_on"] = one.kind.from_load ? "load" : "memory volumes";
    out.push_back(entry);
  }
  return json_text(out);
}

Status draw_survey(const std::vector<Surveyed>& all, const std::string& path) {
  std::vector<std::string> names;
  for (const Surveyed& one : all)
    names.push_back(fmt::format("{} ({})", one.name, to_string(one.kind.kind)));
  std::vector<BarPanel> panels;
  for (const SurveyColumn& column : kColumns) {
    BarPanel panel{column.name, {}, {}};
    for (const Surveyed& one : all) {
      panel.values.push_back(column.figure(one.metrics));
      panel.texts.push_back(cell_text(column, one.metrics));
    }
    panels.push_back(std::move(panel));
  }
  return draw_bar_panels(names, panels, "metrics of DeLocProf and mapping classes", path);
}

Result<std::string> run_survey(const SurveyOptions& options) {
  for (const std::string& file : options.files)
    if (Status good = check_output(file, options.output); !good) return std::move(good).error();
  std::vector<Surveyed> all;
  for (const std::string& file : options.files) {
    auto one = survey_one(file, options);
    if (!one) return std::move(one).error();
    all.push_back(*std::move(one));
  }
  if (!options.output.empty()) {
    if (Status drawn = draw_survey(all, options.output); !drawn) return std::move(drawn).error();
    if (options.output == "-") return std::string();
  }
  return options.format == "json" ? survey_json(all) : survey_text(all);
}

}  // namespace

void add_profile_survey(CLI::App& profile, Job& job) {
  CLI::App* command = profile.add_subcommand(
      "survey", "metrics and classes of several profiles side by side, as table or picture");
  auto options = std::make_shared<SurveyOptions>();
  command->add_option("FILE", options->files, "profiles, one for each program")->required();
  add_cluster_options(*command, options->clusters);
  add_quantity(*command, "-i,--interval", options->interval_s, Quantity::kSeconds, 1e-6, 1e6,
               "interval of CommDyn (default: 1s, as published)");
  command->add_option("-f,--format", options->format, "text or json (default: text)")
      ->check(CLI::IsMember({"text", "json"}));
  command
      ->add_option("-o,--output", options->output,
                   "bars as a picture too, .svg or .png; - is standard output, as SVG, without the "
                   "table")
      ->check(not_empty());
  command->footer(examples({"ondeloc profile survey cg.prof ft.prof mg.prof -o bars.svg"}));
  command->callback([options, &job] { job = [options] { return run_survey(*options); }; });
}

}  // namespace ondeloc::cli
