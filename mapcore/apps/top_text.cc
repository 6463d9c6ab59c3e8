// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/top_text.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <sstream>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/json_text.h"
#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/decide/verdict.h"

namespace ondeloc::cli {
namespace {

using TopJson = nlohmann::ordered_json;
using Lines = std::vector<std::string>;

constexpr std::size_t kMostTopDecisions = 8;
constexpr std::size_t kMostRanksOfNode = 12;  // that a line names

void add_text(Lines& lines, const std::string& text) {
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
}

// The ranks that run on the node: their CPUs have one in common with its CPUs.
std::vector<int> ranks_on(const ReportRun& run, const ReportedNuma& node) {
  const auto cpus = CpuSet::parse_list(node.cpus);
  std::vector<int> ranks;
  for (const ReportedRank& rank : run.ranks) {
    const auto own = CpuSet::parse_list(rank.last_cpus);
    if (cpus && own && own->intersects(*cpus)) ranks.push_back(rank.rank);
  }
  return ranks;
}

std::string ranks_text(std::vector<int> ranks) {
  const std::size_t all = ranks.size();
  ranks.resize(std::min(all, kMostRanksOfNode));
  return fmt::format("{}{}", fmt::join(ranks, " "),
                     all > ranks.size() ? fmt::format(" and {} more", all - ranks.size()) : "");
}

void add_nodes(Lines& lines, const ReportRun& run, const Load& load) {
  lines.push_back(fmt::format("{:<10} {:<14} {:>5}  {}", "NUMA node", "CPUs", "busy", "ranks"));
  for (const ReportedNuma& node : run.numa) {
    const auto busy = load.of(node.cpus);
    lines.push_back(fmt::format("{:<10} {:<14} {:>5}  {}", node.os, node.cpus,
                                busy ? fmt::format("{:.0f} %", 100 * *busy) : "-",
                                ranks_text(ranks_on(run, node))));
  }
}

void add_decisions(Lines& lines, const Run& run) {
  lines.push_back("last decisions");
  const std::size_t all = run.steps.size();
  for (std::size_t i = all - std::min(all, kMostTopDecisions); i < all; ++i) {
    const RunStep& step = run.steps[i];
    const std::string across =
        step.remote_before ? fmt::format("{:.0f} % across NUMA nodes", 100 * *step.remote_before)
                           : "";
    lines.push_back(
        fmt::format("  {:>9}  {:<9} {:>10}  {:<23} {}", seconds_text(step.end),
                    name_of(step.decision.kind), bytes_text(step.bytes), across,
                    step.moved.empty() ? "" : counted(step.moved.size(), "rank") + " moved"));
  }
}

void add_step(Lines& lines, const ReportRun& run, const Load& load) {
  lines.push_back(fmt::format(
      "{}{}: {}, algorithm {}, {} since the start", step_name(run.job, run.step, run.node),
      run.program.empty() ? "" : ", " + run.program, counted(run.ranks.size(), "rank"),
      run.algorithm, seconds_text(run.wall_ms * 1e-3)));
  lines.emplace_back();
  const std::string levels = level_table(run.levels);
  if (!levels.empty()) {
    lines.push_back("bytes and messages between ranks of (before: if no rank had moved)");
    add_text(lines, levels);
    lines.emplace_back();
  }
  add_nodes(lines, run, load);
  lines.emplace_back();
  add_decisions(lines, run.run);
  for (const std::string& note : run.notes) lines.push_back("note: " + note);
}

TopJson levels_json(const ReportRun& run) {
  TopJson out = TopJson::array();
  for (const Domain domain : used_domains(run.levels)) {
    const auto d = static_cast<std::size_t>(domain);
    out.push_back({{"domain", domain_key(domain)},
                   {"bytes_before", run.levels.before.bytes[d]},
                   {"bytes_after", run.levels.after.bytes[d]}});
  }
  return out;
}

TopJson step_json(const ReportRun& run, const Load& load) {
  TopJson json = {{"job", run.job},
                  {"step", run.step},
                  {"node", run.node},
                  {"program", run.program},
                  {"algorithm", run.algorithm},
                  {"seconds", run.wall_ms * 1e-3},
                  {"domains", levels_json(run)},
                  {"numa", TopJson::array()},
                  {"ranks", TopJson::array()},
                  {"decisions", TopJson::array()}};
  for (const ReportedNuma& node : run.numa) {
    const auto busy = load.of(node.cpus);
    json["numa"].push_back({{"os", node.os},
                            {"cpus", node.cpus},
                            {"busy", busy ? TopJson(*busy) : TopJson(nullptr)},
                            {"ranks", ranks_on(run, node)}});
  }
  for (const ReportedRank& rank : run.ranks)
    json["ranks"].push_back(
        {{"rank", rank.rank}, {"cpus", rank.last_cpus}, {"migrations", rank.migrations}});
  for (const RunStep& step : run.run.steps)
    json["decisions"].push_back({{"t", step.end},
                                 {"decision", name_of(step.decision.kind)},
                                 {"bytes", step.bytes},
                                 {"gain", step.decision.gain},
                                 {"threshold", step.decision.threshold},
                                 {"moved", step.moved}});
  return json;
}

}  // namespace

std::vector<std::string> top_lines(const LiveSteps& live, const Load& load) {
  Lines lines;
  for (const ReportRun& run : live.steps) {
    if (!lines.empty()) lines.insert(lines.end(), 2, "");
    add_step(lines, run, load);
  }
  if (live.starting > 0)
    lines.push_back(counted(live.starting, "more step") + " without an interval yet");
  lines.insert(lines.end(), live.unread.begin(), live.unread.end());
  if (lines.empty())
    lines = {"No step of yours runs with --ondeloc=online on this node.",
             "For another node: srun --overlap --jobid=JOBID -w NODE --pty ondeloc top"};
  return lines;
}

std::string top_json(const LiveSteps& live, const Load& load) {
  TopJson json = TopJson::array();
  for (const ReportRun& run : live.steps) json.push_back(step_json(run, load));
  return json_text(json);
}

}  // namespace ondeloc::cli
