// SPDX-License-Identifier: Apache-2.0
// ondeloc report: the reports of a run, for people (text) and for other programs (json, prom,
// influx). The files of all nodes of a step may be given together.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "mapcore/apps/overview.h"
#include "mapcore/apps/replayed_report.h"
#include "mapcore/base/escaped.h"
#include "mapcore/base/json_text.h"
#include "mapcore/base/new_file.h"
#include "mapcore/base/text.h"
#include "mapcore/input/report_run.h"
#include "mapcore/page/page.h"

namespace ondeloc::cli {
namespace {

struct ReportCommand {
  std::vector<std::string> files;
  std::string format;  // empty: html if the output is named so, else text
  std::string output;
  ReplaySetup setup;
};

constexpr std::size_t kMostMatrixRanks = 16;  // wider tables do not fit a terminal

double cost_of(const Run& run) {
  double cost = 0;
  for (const RunStep& step : run.steps) cost += step.cost;
  return cost;
}

std::string share_change(const RunStep& step) {
  if (!step.remote_before) return "-";
  const std::string before = fmt::format("{:.0f} %", 100 * *step.remote_before);
  if (!step.remote_after || step.moved.empty()) return before;
  return fmt::format("{} -> {:.0f} %", before, 100 * *step.remote_after);
}

std::string intervals_text(const Run& run) {
  std::string text =
      fmt::format("\nintervals\n{:>5} {:>9} {:>10} {:>14} {:>9} {:>9} {:>5} {}\n", "", "until",
                  "sent", "across NUMA", "peak load", "gain", "moved", "decision");
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const RunStep& step = run.steps[i];
    const double gain = step.decision.gain;
    text += fmt::format("{:>5} {:>9} {:>10} {:>14} {:>9.2f} {:>9} {:>5} {}\n", i,
                        seconds_text(step.end), bytes_text(step.bytes), share_change(step),
                        step.peak_load, seconds_text(gain), step.moved.size(),
                        name_of(step.decision.kind));
  }
  return text;
}

std::string ranks_text(const ReportRun& report) {
  constexpr std::string_view kFirst = "CPUs at the start", kLast = "CPUs at the end";
  std::size_t first_width = kFirst.size(), last_width = kLast.size() + 1;
  for (const ReportedRank& rank : report.ranks) {
    first_width = std::max(first_width, rank.first_cpus.size());
    last_width = std::max(last_width, rank.last_cpus.size());
  }
  const auto row = [&](const std::string& rank, std::string_view start, std::string_view end,
                       const std::string& migrations) {
    return fmt::format("{:>5}  {:<{}}  {:<{}} {}\n", rank, start, first_width, end, last_width,
                       migrations);
  };
  std::string text = "\nranks\n" + row("", kFirst, kLast, "migrations");
  for (const ReportedRank& rank : report.ranks)
    text += row(std::to_string(rank.rank), rank.first_cpus, rank.last_cpus,
                std::to_string(rank.migrations));
  return text;
}

// The heaviest pairs: a whole matrix of many ranks says nothing to a reader.
std::string pairs_text(const ReportRun& report) {
  constexpr std::size_t kMost = 8;
  std::vector<ReportedCell> cells = report.matrix;
  std::stable_sort(cells.begin(), cells.end(),
                   [](const ReportedCell& a, const ReportedCell& b) { return a.bytes > b.bytes; });
  if (cells.empty()) return "";
  std::string text = fmt::format("\nheaviest pairs of {}\n", cells.size());
  cells.resize(std::min(cells.size(), kMost));
  for (const ReportedCell& cell : cells)
    text += fmt::format("  {:>5} -> {:<5} {:>10} in {:.0f} messages\n", cell.src, cell.dst,
                        bytes_text(cell.bytes), cell.messages);
  return text;
}

std::string matrix_text(const ReportRun& report) {
  if (report.ranks.size() > kMostMatrixRanks / 2) return pairs_text(report);
  std::string text = "\nwho sent how much to whom\n      ";
  for (const ReportedRank& to : report.ranks) text += fmt::format(" {:>8}", to.rank);
  for (const ReportedRank& from : report.ranks) {
    text += fmt::format("\n{:>6}", from.rank);
    for (const ReportedRank& to : report.ranks) {
      const auto cell = std::find_if(
          report.matrix.begin(), report.matrix.end(),
          [&](const ReportedCell& one) { return one.src == from.rank && one.dst == to.rank; });
      text += fmt::format(" {:>8}", cell == report.matrix.end() ? "." : bytes_text(cell->bytes));
    }
  }
  return text + "\n";
}

std::string head_text(const ReportRun& report) {
  std::string text =
      fmt::format("{}: {}, mode {}, algorithm {}\n", run_name(report),
                  counted(report.ranks.size(), "rank"), report.mode, report.algorithm);
  text += verdict_text(report.run);
  text += fmt::format("at stake: messages take {}; waiting in MPI is not measured\n",
                      at_stake(report.run));
  for (const ReportedNuma& node : report.numa)
    text += fmt::format("NUMA node {}: CPUs {}\n", node.os, node.cpus);
  return text + adapters_text(report.adapters);
}

// "before": if no rank had moved.
std::string levels_text(const ReportRun& report) {
  const std::string table = level_table(report.levels);
  return table.empty() ? "" : "\nbytes and messages between ranks of\n" + table;
}

std::string mapper_text(const ReportRun& report) {
  if (report.run.replayed) return "";
  return fmt::format("\nthe mapper used {} of CPU time in {}\n",
                     seconds_text(report.mapper_cpu_ms * 1e-3),
                     seconds_text(report.wall_ms * 1e-3));
}

std::string to_text(const ReportRun& report) {
  std::string text = head_text(report) + ranks_text(report) + matrix_text(report) +
                     levels_text(report) + intervals_text(report.run) + mapper_text(report);
  text += use_text(report.use);
  for (const std::string& note : report.notes) text += fmt::format("note: {}\n", note);
  return text;
}

// One measured value of a run, with the name that monitoring systems see.
struct Metric {
  const char* name;
  const char* help;
  const char* type;                                       // of Prometheus
  std::optional<double> (*get)(const ReportRun& report);  // nothing: unknown
};

constexpr Metric kMetrics[] = {
    {"ranks", "ranks on the node", "gauge",
     [](const ReportRun& r) -> std::optional<double> {
       return static_cast<double>(r.ranks.size());
     }},
    {"run_seconds", "life of the mapper", "gauge",
     [](const ReportRun& r) -> std::optional<double> { return r.wall_ms * 1e-3; }},
    {"bytes_total", "bytes between ranks of the node", "counter",
     [](const ReportRun& r) -> std::optional<double> { return bytes_of(r.run); }},
    {"off_node_bytes_total", "bytes to other nodes", "counter",
     [](const ReportRun& r) -> std::optional<double> { return off_node_bytes_of(r.run); }},
    {"predicted_cost_seconds", "predicted cost of the messages", "gauge",
     [](const ReportRun& r) -> std::optional<double> { return cost_of(r.run); }},
    {"predicted_saved_seconds", "predicted saving of all moves, migrations paid", "gauge",
     [](const ReportRun& r) -> std::optional<double> { return r.run.saved; }},
    {"remaps_total", "intervals in which ranks were moved", "counter",
     [](const ReportRun& r) -> std::optional<double> {
       return static_cast<double>(remaps_of(r.run));
     }},
    {"migrations_total", "ranks that changed their NUMA node", "counter",
     [](const ReportRun& r) -> std::optional<double> {
       return static_cast<double>(r.migrations());
     }},
    {"mapper_cpu_seconds", "CPU time of the mapper", "gauge",
     [](const ReportRun& r) -> std::optional<double> { return r.mapper_cpu_ms * 1e-3; }},
    {"dropped_events_total", "events known to be lost", "counter",
     [](const ReportRun& r) -> std::optional<double> { return static_cast<double>(r.dropped); }},
    {"package_joules", "energy of the packages of the node, other jobs included", "gauge",
     [](const ReportRun& r) -> std::optional<double> { return r.use.package_joules; }},
    {"dram_joules", "energy of the memory of the node, other jobs included", "gauge",
     [](const ReportRun& r) -> std::optional<double> { return r.use.dram_joules; }},
    {"memory_bytes", "memory traffic of the node, other jobs included", "gauge",
     [](const ReportRun& r) -> std::optional<double> { return r.use.memory_bytes; }},
    {"memory_remote_share", "part of it with memory of other NUMA nodes, measured", "gauge",
     [](const ReportRun& r) -> std::optional<double> { return r.use.remote_share; }},
    {"cache_misses", "cache misses of the ranks", "gauge",
     [](const ReportRun& r) -> std::optional<double> { return r.use.cache_misses; }},
};

// A requeued job runs its steps again under their numbers.
std::string restarts_label(const ReportRun& report, const char* quote) {
  if (report.restarts == 0) return "";
  return fmt::format(",restarts={0}{1}{0}", quote, report.restarts);
}

// The text format of Prometheus, version 0.0.4.
std::string to_prometheus(const std::vector<ReportRun>& reports) {
  std::string text;
  for (const Metric& metric : kMetrics) {
    text += fmt::format("# HELP ondeloc_{0} {1}\n# TYPE ondeloc_{0} {2}\n", metric.name,
                        metric.help, metric.type);
    for (const ReportRun& report : reports) {
      const auto value = metric.get(report);
      if (!value) continue;
      text += fmt::format("ondeloc_{}{{job=\"{}\",step=\"{}\",node=\"{}\"{}}} {}\n", metric.name,
                          report.job, report.step, escaped(report.node, "\"\\"),
                          restarts_label(report, "\""), *value);
    }
  }
  return text;
}

// The line protocol of InfluxDB; without a time: the server takes that of the arrival.
std::string to_influx(const std::vector<ReportRun>& reports) {
  std::string text;
  for (const ReportRun& report : reports) {
    const std::string node = report.node.empty() ? "unknown" : escaped_tag(report.node);
    text += fmt::format("ondeloc,job={},step={},node={}{} ", report.job, report.step, node,
                        restarts_label(report, ""));
    std::string fields;
    for (const Metric& metric : kMetrics)
      if (const auto value = metric.get(report))
        fields += fmt::format("{}{}={}", fields.empty() ? "" : ",", metric.name, *value);
    text += fields + "\n";
  }
  return text;
}

std::string to_json_text(const std::vector<ReportRun>& reports) {
  nlohmann::ordered_json nodes = nlohmann::json::array();
  for (const ReportRun& report : reports) {
    nlohmann::ordered_json one = {{"job", report.job},
                                  {"step", report.step},
                                  {"node", report.node},
                                  {"verdict", verdict(report.run)}};
    for (const Metric& metric : kMetrics)
      if (const auto value = metric.get(report)) one[metric.name] = *value;
    if (report.restarts > 0) one["restarts"] = report.restarts;
    one["domains"] = nlohmann::json::array();
    for (const Domain domain : used_domains(report.levels)) {
      const auto d = static_cast<std::size_t>(domain);
      const DomainTraffic &before = report.levels.before, &after = report.levels.after;
      one["domains"].push_back({{"domain", domain_key(domain)},
                                {"bytes_before", before.bytes[d]},
                                {"bytes_after", after.bytes[d]},
                                {"messages_before", before.messages[d]},
                                {"messages_after", after.messages[d]}});
    }
    one["notes"] = report.notes;
    nodes.push_back(std::move(one));
  }
  return json_text(nodes);
}

// A profile, or a series, is told as the online loop would have gone.
Result<ReportRun> read_run(InputFile file, const std::string& path, const ReplaySetup& setup) {
  if (file.kind == InputKind::kReport) return parse_report_run(file.text, file.name);
  if (!holds(file.kind, Need::kSeries)) return wrong_kind(file.name, file.kind, Need::kSeries);
  return replayed_report(setup, std::move(file), path);
}

// The nodes of a file.
Result<std::vector<ReportRun>> read_runs(InputFile file, const std::string& path,
                                         const ReplaySetup& setup) {
  if (file.kind == InputKind::kJobReport) return parse_job_report_runs(file.text, file.name);
  auto run = read_run(std::move(file), path, setup);
  if (!run) return std::move(run).error();
  return std::vector<ReportRun>{*std::move(run)};
}

// The files of the runs: of each node in a step there is one report. A replay may be told beside
// another of the same step, but prom and influx know a run by its labels only.
class GivenRuns {
 public:
  explicit GivenRuns(const std::string& format)
      : by_labels_(format == "prom" || format == "influx") {}

  Status add(const ReportRun& run, const std::string& file) {
    if (run.run.replayed && !by_labels_) return {};
    const auto [at, is_new] =
        file_of_.try_emplace({run.job, run.restarts, run.step, run.node}, file);
    if (is_new) return {};
    return Error(fmt::format("'{}' and '{}' are both of {}; give one of them", at->second, file,
                             run_name(run, "a run without a job")));
  }

 private:
  using Labels = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t, std::string>;
  bool by_labels_;
  std::map<Labels, std::string> file_of_;
};

Result<std::vector<ReportRun>> read_reports(const ReportCommand& options) {
  std::vector<ReportRun> reports;
  GivenRuns given(options.format);
  bool is_replayed = false;  // one of the files
  std::string recorded;      // the first of the others
  for (const std::string& path : options.files) {
    auto file = load_input(path);
    if (!file) return std::move(file).error();
    const std::string name = file->name;
    if (!is_report(file->kind))
      is_replayed = true;
    else if (recorded.empty())
      recorded = name;
    auto runs = read_runs(*std::move(file), path, options.setup);
    if (!runs) return std::move(runs).error();
    for (const ReportRun& run : *runs)
      if (Status good = given.add(run, name); !good) return std::move(good).error();
    std::move(runs->begin(), runs->end(), std::back_inserter(reports));
  }
  if (is_replayed) return reports;
  if (Status good = check_without_replay(options.setup, recorded); !good)
    return std::move(good).error();
  return reports;
}

Result<std::string> text_of(const std::vector<ReportRun>& reports, const std::string& format) {
  if (format == "html") return to_page(reports);
  if (format == "json") return to_json_text(reports);
  if (format == "prom") return to_prometheus(reports);
  if (format == "influx") return to_influx(reports);
  std::string text;
  for (const ReportRun& report : reports) text += (text.empty() ? "" : "\n") + to_text(report);
  return text;
}

Result<std::string> run_report(const ReportCommand& options) {
  for (const std::string& file : options.files) {
    if (Status good = check_output(file, options.output); !good) return std::move(good).error();
  }
  const auto reports = read_reports(options);
  if (!reports) return reports.error();
  const bool named_html = options.output.ends_with(".html") || options.output.ends_with(".htm");
  const std::string format = !options.format.empty() ? options.format
                             : named_html            ? "html"
                                                     : "text";
  auto text = text_of(*reports, format);
  if (!text || options.output.empty()) return text;
  if (Status written = write_new_file(options.output, *text); !written)
    return std::move(written).error();
  return std::string();
}

}  // namespace

void add_report(CLI::App& app, Job& job) {
  CLI::App* command =
      app.add_subcommand("report", "tell what online did: verdict, ranks, decisions");
  auto options = std::make_shared<ReportCommand>();
  command
      ->add_option("FILE", options->files,
                   "reports of an online run, such as those of all nodes of a step, the report of "
                   "a job, or a "
                   "profile; - reads standard input")
      ->required();
  command
      ->add_option("-f,--format", options->format,
                   "text, html, json, prom (Prometheus) or influx (InfluxDB) (default: html if the "
                   "output ends in .html, else text)")
      ->check(CLI::IsMember({"text", "html", "json", "prom", "influx"}));
  command
      ->add_option("-o,--output", options->output,
                   "write to this file (default: -, standard output)")
      ->check(not_empty());
  add_replay_options(*command, options->setup, "--seconds");
  command->footer(
      examples({"srun --ondeloc=online,report=report.json ./app", "ondeloc report report.json",
                "ondeloc report report.json -o run.html", "ondeloc report app.prof -o run.html",
                "ondeloc report report.json -f prom"}));
  command->callback([options, &job] { job = [options] { return run_report(*options); }; });
}

}  // namespace ondeloc::cli
