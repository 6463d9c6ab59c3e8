// SPDX-License-Identifier: Apache-2.0
#include "mapcore/page/run_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "mapcore/base/quantity.h"
#include "mapcore/page/heat_data.h"
#include "mapcore/page/interval_data.h"
#include "mapcore/page/machine_data.h"

namespace ondeloc {
namespace {

using PageJson = nlohmann::ordered_json;

constexpr std::size_t kMostPagePairs = 200;

std::string crossing_text(const ReportRun& run) {
  const auto at_start = run.run.crossing_at_start, as_moved = run.run.crossing_as_moved;
  if (at_start && as_moved) {
    const int before = static_cast<int>(100 * *at_start + 0.5),
              after = static_cast<int>(100 * *as_moved + 0.5);
    return before == after ? fmt::format("{} %", after) : fmt::format("{} → {} %", before, after);
  }
  const auto in_steps = crossing_in_steps(run.run);
  return in_steps ? fmt::format("{:.0f} %", 100 * *in_steps) : "unknown";
}

PageJson tiles_of(const ReportRun& run) {
  double bytes = 0;
  for (const ReportedCell& cell : run.matrix) bytes += cell.bytes;
  const double off_node = off_node_bytes_of(run.run);
  PageJson tiles = PageJson::array();
  tiles.push_back({"Ranks", std::to_string(run.ranks.size())});
  tiles.push_back({"Bytes between them", bytes_text(bytes)});
  tiles.push_back({"Bytes across NUMA nodes", crossing_text(run)});
  tiles.push_back({"Changes of NUMA node", std::to_string(run.migrations())});
  tiles.push_back({"Run time watched", seconds_text(run.run.seconds())});
  if (off_node > 0) tiles.push_back({"Bytes to other nodes", bytes_text(off_node)});
  if (run.wall_ms > 0)
    tiles.push_back({"Mapper's CPU time", seconds_text(run.mapper_cpu_ms * 1e-3)});
  return tiles;
}

PageJson ranks_of(const ReportRun& run) {
  PageJson ranks = PageJson::array();
  for (const ReportedRank& rank : run.ranks)
    ranks.push_back({rank.rank, rank.first_cpus, rank.last_cpus, rank.migrations});
  return ranks;
}

PageJson pairs_of(const ReportRun& run) {
  std::vector<ReportedCell> cells = run.matrix;
  std::stable_sort(cells.begin(), cells.end(),
                   [](const ReportedCell& a, const ReportedCell& b) { return a.bytes > b.bytes; });
  cells.resize(std::min(cells.size(), kMostPagePairs));
  PageJson pairs = PageJson::array();
  for (const ReportedCell& cell : cells)
    pairs.push_back({cell.src, cell.dst, cell.bytes, cell.messages});
  return pairs;
}

PageJson levels_of(const ReportRun& run) {
  PageJson out = PageJson::array();
  for (const Domain domain : used_domains(run.levels)) {
    const auto d = static_cast<std::size_t>(domain);
    out.push_back({level_name(domain), run.levels.before.bytes[d], run.levels.after.bytes[d]});
  }
  return out;
}

// "node1", or "1.0 node1, restart 2".
std::string tab_text(const ReportRun& run, Tab tab) {
  const std::string node = run.node.empty() ? "run" : run.node;
  if (tab == Tab::kNode || run.job == 0) return node;
  return fmt::format("{}.{} {}{}", run.job, run.step, node, restart_text(run));
}

PageJson origin_of(const ReportRun& run) {
  PageJson out = PageJson::array();
  const auto put = [&out](const std::string& key, const std::string& value) {
    if (!value.empty()) out.push_back({key, value});
  };
  put("node", run.node);
  if (run.job > 0) put("job and step", fmt::format("{}.{}", run.job, run.step));
  for (const auto& [key, value] : run.origin) put(key, value);
  put("mode", run.mode);
  put("algorithm", run.algorithm);
  for (const auto& [key, value] : run.model) put("cost model, " + key, value);
  put("page made by", "ondeloc " ONDELOC_VERSION);
  return out;
}

}  // namespace

std::string title_of(const ReportRun& run) {
  return (run.program.empty() ? "" : run.program + ": ") + run_name(run);
}

nlohmann::ordered_json run_data(const ReportRun& run, Tab tab) {
  const bool moved = std::any_of(run.run.steps.begin(), run.run.steps.end(),
                                 [](const RunStep& step) { return !step.moved.empty(); });
  return {{"title", title_of(run)},
          {"tab", tab_text(run, tab)},
          {"verdict", verdict(run.run)},
          {"moved", moved},
          {"tiles", tiles_of(run)},
          {"firstName", run.run.replayed ? "At the start" : "As Slurm bound them"},
          {"lastName", run.run.replayed ? "As ondeloc would have moved them" : "At the end"},
          {"machine", machine_data(run)},
          {"ranks", ranks_of(run)},
          {"heat", heat_data(run)},
          {"pairs", pairs_of(run)},
          {"intervals", interval_data(run.run)},
          {"decisions", decision_data(run.run)},
          {"decisionHint", decision_hint(run.run)},
          {"levels", levels_of(run)},
          {"afterName", run.run.replayed ? "under the last mapping" : "as the ranks ran"},
          {"notes", run.notes},
          {"origin", origin_of(run)}};
}

}  // namespace ondeloc
