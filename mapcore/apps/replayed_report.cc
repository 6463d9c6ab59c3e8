// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/replayed_report.h"

#include <fmt/format.h>

#include <algorithm>

#include "mapcore/base/printable.h"

namespace ondeloc::cli {
namespace {

void describe_machine(const Machine& machine, ReportRun& report) {
  for (const NumaNode& node : machine.nodes)
    report.numa.push_back({node.os, node.pus.to_list(), node.package});
  for (const Llc& llc : machine.llcs)
    report.caches.push_back(
        {machine.nodes[llc.node].os, llc.pus.to_list(), static_cast<double>(llc.bytes)});
  for (const CpuSet& core : core_sets(machine)) report.cores.push_back(core.to_list());
  report.origin.emplace_back("machine", printable(machine.source));
}

CommMatrix sum_of_series(const std::vector<CommMatrix>& series) {
  std::vector<MatrixEntry> entries;
  int ranks = 0;
  for (const CommMatrix& matrix : series) {
    ranks = std::max(ranks, matrix.ranks);
    entries.insert(entries.end(), matrix.entries.begin(), matrix.entries.end());
  }
  return CommMatrix::from_entries(ranks, std::move(entries));
}

// A replay does not tell how often each rank would have changed its NUMA node: the page counts a
// change between start and end.
void describe_ranks(const ReplayedSource& run, const NodePart& part, ReportRun& report) {
  const RankNames names{part.ranks, part.node};
  const Layout& layout = run.layout;
  for (const LocalRank rank : layout.previous.ids()) {
    const auto &first = layout.slots[layout.previous[rank]],
               &last = layout.slots[run.replay.last[rank]];
    report.ranks.push_back({names.of(static_cast<std::size_t>(rank.value)), first.pus.to_list(),
                            last.pus.to_list(), first.node == last.node ? 0 : 1});
  }
  const CommMatrix sum = sum_of_series(run.series);
  for (const MatrixEntry& entry : sum.entries)
    report.matrix.push_back({names.of(static_cast<std::size_t>(entry.src)),
                             names.of(static_cast<std::size_t>(entry.dst)), entry.bytes,
                             entry.messages});
  report.levels = run.replay.levels;
}

void describe_source(const TrafficSource& source, ReportRun& report) {
  if (const auto* profile = std::get_if<ProfileReader>(&source)) {
    report.job = profile->header().job;
    report.step = profile->header().step;
    report.node = printable(profile->header().node);
    for (const std::string& note : profile->notes()) report.notes.push_back(printable(note));
    if (!profile->damage().empty()) report.notes.push_back(profile->damage());
  }
}

}  // namespace

Result<ReportRun> replayed_report(const ReplaySetup& setup, InputFile file,
                                  const std::string& path) {
  const std::string name = file.name;
  auto source = open_traffic(std::move(file));
  if (!source) return std::move(source).error();
  const auto part = part_of(*source, name);
  if (!part) return part.error();
  const auto run = replay_with_layout(setup, *source, path);
  if (!run) return run.error();
  ReportRun report;
  report.mode = "replayed from " + printable(name);
  report.algorithm = setup.loop.algorithm;
  describe_source(*source, report);
  describe_machine(run->layout.machine, report);
  describe_ranks(*run, *part, report);
  report.run = run_of(run->replay, setup.loop);
  for (RunStep& step : report.run.steps)
    for (int& rank : step.moved)
      rank = RankNames{part->ranks, part->node}.of(static_cast<std::size_t>(rank));
  return report;
}

}  // namespace ondeloc::cli
