// SPDX-License-Identifier: Apache-2.0
#include "mapcore/input/report_run.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "mapcore/base/ids.h"
#include "mapcore/base/joules_text.h"
#include "mapcore/base/printable.h"
#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/input/json_without.h"
#include "mapcore/options/option_enums.h"
#include "mapcore/options/options.h"
#include "mapcore/profile/job_report.h"
#include "mapcore/report/report.h"
#include "mapcore/report/report_version.h"

namespace ondeloc {
namespace {

using ReportJson = nlohmann::json;

const ReportJson& field(const ReportJson& object, const char* key) {
  static const ReportJson kNothing;
  if (!object.is_object()) return kNothing;
  const auto at = object.find(key);
  return at == object.end() ? kNothing : *at;
}

double real(const ReportJson& object, const char* key) {
  const ReportJson& value = field(object, key);
  const double number = value.is_number() ? value.get<double>() : 0;
  return std::abs(number) < 1e300 ? number : 0;
}

std::optional<double> share(const ReportJson& object, const char* key) {
  if (!field(object, key).is_number()) return std::nullopt;
  return std::clamp(real(object, key), 0.0, 1.0);
}

std::uint64_t natural(const ReportJson& value) {
  return value.is_number_unsigned() ? value.get<std::uint64_t>() : 0;
}

// Text that goes to a terminal.
std::string plain(const ReportJson& value) {
  return value.is_string() ? printable(value.get<std::string>()) : "";
}

int world_rank(const ReportJson& value) {
  if (!value.is_number_integer()) return -1;
  const auto rank = value.get<std::int64_t>();
  return rank >= 0 && rank <= kMaxWorldRank ? static_cast<int>(rank) : -1;
}

// Reports of earlier releases do not tell. A report is not trusted: the sum must not overflow.
std::size_t count_of(const ReportJson& interval) {
  return std::clamp<std::uint64_t>(natural(field(interval, "count")), 1, 1'000'000'000);
}

RunStep step_of(const ReportJson& interval, double begin) {
  RunStep step;
  step.begin = begin;
  step.end = std::max(begin, real(interval, "t"));
  step.looked_seconds = step.end - step.begin;
  step.bytes = real(interval, "bytes");
  step.off_node_bytes = real(interval, "off_node_bytes");
  step.count = count_of(interval);
  step.cost = real(interval, "cost_before");
  step.remote_before = share(interval, "remote_share_before");
  step.remote_after = share(interval, "remote_share_after");
  step.peak_load = real(interval, "peak_load_before");
  const auto kind = decision_of(plain(field(interval, "decision")));
  step.decision = {kind.value_or(DecisionKind::kWaits), real(interval, "gain"),
                   real(interval, "threshold"),         real(interval, "migration"),
                   real(interval, "horizon"),           real(interval, "ledger")};
  for (const ReportJson& rank : field(interval, "moved"))
    if (world_rank(rank) >= 0) step.moved.push_back(world_rank(rank));
  return step;
}

Run run_of(const ReportJson& report) {
  Run run;
  for (const ReportJson& interval : field(report, "intervals"))
    run.steps.push_back(step_of(interval, run.seconds()));
  run.saved = saved_by(run);
  run.remaps = natural(field(field(report, "totals"), "remaps"));
  return run;
}

// "renderD129 (fdinfo), near at the start, away at the end".
std::string gpus_of(const ReportJson& rank) {
  constexpr std::size_t kMostNames = 16;
  const std::string source = plain(field(rank, "gpu_source"));
  if (source.empty()) return "";
  std::string text;
  const ReportJson& names = field(rank, "gpus");
  for (std::size_t i = 0; names.is_array() && i < std::min(names.size(), kMostNames); ++i)
    text += (i == 0 ? "" : ", ") + plain(names[i]);
  text += fmt::format("{}({})", text.empty() ? "not known " : " ", source);
  const ReportJson &start = field(rank, "gpus_near_at_start"),
                   &end = field(rank, "gpus_near_at_end");
  if (!start.is_boolean() || !end.is_boolean()) return text + ", place not known";
  const auto word = [](const ReportJson& near) { return near.get<bool>() ? "near" : "away"; };
  return text + fmt::format(", {} at the start, {} at the end", word(start), word(end));
}

void read_ranks(const ReportJson& report, ReportRun& out) {
  for (const ReportJson& rank : field(report, "ranks")) {
    const int number = world_rank(field(rank, "rank"));
    if (number >= 0)
      out.ranks.push_back(
          {number, plain(field(rank, "initial_cpus")), plain(field(rank, "final_cpus")),
           static_cast<int>(std::clamp(real(rank, "migrations"), 0.0, 1e9)), gpus_of(rank)});
  }
  for (const ReportJson& rank : field(report, "ranks"))
    if (natural(field(rank, "pid")) > 0) ++out.attached;
  for (const ReportJson& cell : field(report, "matrix")) {
    const int src = world_rank(field(cell, "src")), dst = world_rank(field(cell, "dst"));
    if (src >= 0 && dst >= 0)
      out.matrix.push_back({src, dst, real(cell, "bytes"), real(cell, "messages")});
  }
}

double amount(const ReportJson& object, const char* key) {
  return std::max(0.0, real(object, key));
}

TrafficChange levels_of(const ReportJson& domains) {
  TrafficChange levels;
  for (const ReportJson& line : domains) {
    const auto domain = domain_of(plain(field(line, "domain")));
    if (!domain) continue;
    const auto d = static_cast<std::size_t>(*domain);
    levels.before.bytes[d] = amount(line, "bytes_before");
    levels.after.bytes[d] = amount(line, "bytes_after");
    levels.before.messages[d] = amount(line, "messages_before");
    levels.after.messages[d] = amount(line, "messages_after");
  }
  return levels;
}

// For reports of earlier releases, which have only the levels. If a NUMA node holds several
// packages, two ranks of this node may meet at "machine".
std::optional<double> crossing_in_levels(const DomainTraffic& traffic, std::size_t nodes) {
  const double all = traffic.all_bytes();
  if (all <= 0) return std::nullopt;
  if (nodes == 1) return 0;
  return (traffic.bytes[static_cast<std::size_t>(Domain::kPackage)] +
          traffic.bytes[static_cast<std::size_t>(Domain::kMachine)]) /
         all;
}

void read_crossing(const ReportJson& totals, ReportRun& out) {
  constexpr double kRounding = 0.01;
  Run& run = out.run;
  run.crossing_at_start = share(totals, "remote_share_before");
  run.crossing_as_moved = share(totals, "remote_share_after");
  if (run.crossing_as_moved) return;
  const auto in_levels = crossing_in_levels(out.levels.after, out.numa.size()),
             in_steps = crossing_in_steps(run);
  if (in_levels && in_steps && std::abs(*in_levels - *in_steps) > kRounding) return;
  run.crossing_at_start = crossing_in_levels(out.levels.before, out.numa.size());
  run.crossing_as_moved = in_levels;
}

void read_model(const ReportJson& model, ReportRun& out) {
  if (!model.is_object()) return;
  for (const auto& [kind, source] : model.items())
    out.model.emplace_back(printable(kind), plain(source));
}

int small_number(const ReportJson& object, const char* key, double otherwise) {
  const double number = field(object, key).is_number() ? real(object, key) : otherwise;
  return static_cast<int>(std::clamp(number, -1.0, 1e6));
}

void read_topology(const ReportJson& topology, ReportRun& out) {
  for (const ReportJson& node : field(topology, "numa"))
    out.numa.push_back({small_number(node, "os", 0), plain(field(node, "pus")),
                        small_number(node, "package", -1)});
  for (const ReportJson& cache : field(topology, "caches"))
    out.caches.push_back(
        {small_number(cache, "numa", -1), plain(field(cache, "pus")), amount(cache, "bytes")});
  for (const ReportJson& core : field(topology, "cores"))
    if (core.is_string()) out.cores.push_back(plain(core));
  for (const ReportJson& device : field(topology, "devices"))
    out.devices.push_back({plain(field(device, "name")), plain(field(device, "kind")),
                           plain(field(device, "pci")), small_number(device, "node", -1),
                           plain(field(device, "near"))});
}

constexpr std::string_view kLargeParts[] = {"matrix",   "off_node", "off_node_matrix",
                                            "modelled", "topology", "model"};

ReportJson parse_json(std::string_view text, ReportParts parts) {
  if (parts == ReportParts::kWhole) return ReportJson::parse(text, nullptr, false);
  return parse_json_without(text, kLargeParts);
}

void read_origin(const ReportJson& origin, ReportRun& out) {
  if (!origin.is_object()) return;
  const std::string program = plain(field(origin, "program"));
  out.program = program.substr(program.rfind('/') + 1);
  out.restarts = parse_unsigned(plain(field(origin, "restarts")), UINT32_MAX).value_or(0);
  for (const auto& [key, value] : origin.items())
    out.origin.emplace_back(printable(key), plain(value));
}

// A report is not trusted: a sum of the site must not shrink or end at infinity.
std::optional<double> known_amount(const ReportJson& object, const char* key) {
  if (!field(object, key).is_number()) return std::nullopt;
  return std::clamp(real(object, key), 0.0, 1e18);
}

ReportedUse use_of(const ReportJson& report) {
  const ReportJson &energy = field(report, "energy"), &memory = field(report, "memory"),
                   &counters = field(report, "counters");
  return {known_amount(energy, "package_joules"),
          known_amount(energy, "dram_joules"),
          amount(energy, "seconds"),
          known_amount(memory, "total_bytes"),
          share(memory, "remote_share"),
          plain(field(energy, "why_no_package")),
          plain(field(energy, "why_no_dram")),
          plain(field(memory, "why_unknown")),
          known_amount(counters, "cache_misses"),
          known_amount(counters, "read_bytes"),
          known_amount(counters, "written_bytes"),
          plain(field(counters, "why_no_misses")),
          plain(field(counters, "why_no_bytes"))};
}

std::string energy_phrase(const char* of, std::optional<double> joules, const std::string& why) {
  if (joules) return fmt::format("{} {}", of, joules_text(*joules));
  return fmt::format("{} unknown ({})", of, why);
}

Result<ReportRun> run_of_json(const ReportJson& report, const std::string& name) {
  if (Status good = check_report_json(report, fmt::format("'{}'", name)); !good)
    return std::move(good).error();
  if (!field(report, "intervals").is_array() || !field(report, "ranks").is_array())
    return Error(fmt::format("'{}' is not a report of ondeloc", name));
  if (field(report, "intervals").size() > kMostReportedIntervals)
    return Error(fmt::format("'{}' is not a report of ondeloc: it has more than {} intervals", name,
                             kMostReportedIntervals));
  ReportRun out;
  out.node = plain(field(report, "node"));
  out.mode = plain(field(report, "mode"));
  out.algorithm = plain(field(report, "algorithm"));
  out.job = natural(field(report, "job"));
  out.step = natural(field(report, "step"));
  read_topology(field(report, "topology"), out);
  read_origin(field(report, "origin"), out);
  read_ranks(report, out);
  for (const ReportJson& adapter : field(report, "adapters"))
    if (field(adapter, "name").is_string())
      out.adapters.push_back({plain(field(adapter, "name")), amount(adapter, "near_bytes"),
                              amount(adapter, "far_bytes")});
  out.levels = levels_of(field(field(report, "totals"), "domains"));
  read_model(field(report, "model"), out);
  out.run = run_of(report);
  out.run.decide = parse_enum<Decide>(plain(field(field(report, "options"), "decide")))
                       .value_or(Decide::kAuto);  // older reports do not tell
  out.run.bound_once = out.mode == mode_name(Mode::kStatic);
  out.run.attached = out.attached > 0;
  for (const ReportedCell& cell : out.matrix) out.run.bytes += std::max(0.0, cell.bytes);
  for (const ReportJson& cell : field(report, "off_node"))
    out.run.off_node_bytes += amount(cell, "bytes");
  read_crossing(field(report, "totals"), out);
  out.mapper_cpu_ms = real(field(report, "totals"), "mapper_cpu_ms");
  out.wall_ms = real(field(report, "totals"), "wall_ms");
  const ReportJson& complete = field(report, "complete");
  out.complete = !complete.is_boolean() || complete.get<bool>();  // older reports do not tell
  out.dropped = natural(field(field(report, "events"), "dropped"));
  out.use = use_of(report);
  for (const ReportJson& note : field(report, "notes"))
    if (note.is_string()) out.notes.push_back(plain(note));
  out.run.left_alone = !out.run.attached && !tells_nobody_called(out.notes);
  return out;
}

// By its intervals: the matrix may have more.
bool is_silent(const ReportRun& report) {
  const auto& steps = report.run.steps;
  return report.attached > 0 && std::none_of(steps.begin(), steps.end(),
                                             [](const RunStep& step) { return step.bytes > 0; });
}

}  // namespace

std::int64_t ReportRun::migrations() const {
  std::int64_t sum = 0;
  for (const ReportedRank& rank : ranks) sum += rank.migrations;
  return sum;
}

std::string step_name(std::uint64_t job, std::uint64_t step, const std::string& node,
                      const std::string& without_job) {
  const std::string name = job > 0 ? fmt::format("job {} step {}", job, step) : without_job;
  return node.empty() ? name : name + " on " + shorten(node);
}

std::string restart_text(const ReportRun& run) {
  return run.restarts > 0 ? fmt::format(", restart {}", run.restarts) : "";
}

std::string run_name(const ReportRun& run, const std::string& without_job) {
  return step_name(run.job, run.step, run.node, without_job) + restart_text(run);
}

namespace {

std::string counters_text(const ReportedUse& use) {
  std::string text;
  if (use.cache_misses)
    text += fmt::format("cache misses of the ranks: {:.4g}\n", *use.cache_misses);
  else if (!use.why_no_misses.empty())
    text += fmt::format("cache misses of the ranks: unknown ({})\n", use.why_no_misses);
  if (use.read_bytes && use.written_bytes)
    text += fmt::format("memory controllers of the node: {} read, {} written\n",
                        bytes_text(*use.read_bytes), bytes_text(*use.written_bytes));
  else if (!use.why_no_bytes.empty())
    text += fmt::format("memory controllers of the node: unknown ({})\n", use.why_no_bytes);
  return text;
}

}  // namespace

std::string use_text(const ReportedUse& use) {
  std::string text;
  const bool tells_energy = use.package_joules || !use.why_no_package.empty();
  if (tells_energy && use.why_no_package == use.why_no_dram && !use.package_joules)
    text += fmt::format("energy of the node: unknown ({})\n", use.why_no_package);
  else if (tells_energy)
    text += fmt::format("energy of the node in {}: {}, {}\n", seconds_text(use.seconds),
                        energy_phrase("packages", use.package_joules, use.why_no_package),
                        energy_phrase("memory", use.dram_joules, use.why_no_dram));
  if (use.memory_bytes)
    text += fmt::format("memory traffic of the node: {}, {:.1f} % of it remote (measured)\n",
                        bytes_text(*use.memory_bytes), 100 * use.remote_share.value_or(0));
  else if (!use.why_no_memory.empty())
    text += fmt::format("memory traffic of the node: unknown ({})\n", use.why_no_memory);
  return text + counters_text(use);
}

std::string adapters_text(const std::vector<ReportedAdapter>& adapters) {
  std::string text;
  for (const ReportedAdapter& adapter : adapters)
    text +=
        fmt::format("through {} to other nodes: {} from ranks near it, {} from other ranks\n",
                    adapter.name, bytes_text(adapter.near_bytes), bytes_text(adapter.far_bytes));
  return text;
}

Result<ReportRun> parse_report_run(std::string_view text, const std::string& name,
                                   ReportParts parts) {
  if (is_json_too_deep(text))
    return Error(fmt::format("report '{}': brackets nest deeper than {}", name, kMaxJsonDepth));
  auto run = run_of_json(parse_json(without_mark(text), parts), name);
  if (parts == ReportParts::kWhole || !run || !is_silent(*run)) return run;
  return run_of_json(parse_json(without_mark(text), ReportParts::kWhole), name);
}

Result<std::vector<ReportRun>> parse_job_report_runs(std::string_view text,
                                                     const std::string& name) {
  // Checks that it is one job.
  if (const auto job = parse_job_report(text, name); !job) return job.error();
  const ReportJson report = ReportJson::parse(without_mark(text), nullptr, false);
  std::vector<ReportRun> runs;
  for (const ReportJson& node : field(report, "nodes")) {
    auto run = run_of_json(node, name);
    if (!run) return std::move(run).error();
    runs.push_back(*std::move(run));
  }
  return runs;
}

}  // namespace ondeloc
