// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/second_run.h"

#include <fmt/format.h>

#include <numeric>
#include <vector>

#include "mapcore/base/read_file.h"
#include "mapcore/options/algorithm_table.h"

namespace ondeloc::cli {
namespace {

double bytes_of(const CommMatrix& matrix) {
  double bytes = 0;
  for (const MatrixEntry& entry : matrix.entries)
    if (entry.src != entry.dst) bytes += entry.bytes;
  return bytes;
}

std::string mapping_name(const std::string& algorithm) {
  return algorithm == "identity" ? "the present mapping" : algorithm;
}

}  // namespace

Prospect prospect_of(std::span<const TriedMapping> tried, const std::string& base,
                     const Workload& work, const CostModel& model) {
  const TriedMapping *usual = &tried.front(), *best = &tried.front();
  for (const TriedMapping& one : tried) {
    if (one.name == base) usual = &one;
    if (one.cost.total <= best->cost.total) best = &one;
  }
  Prospect prospect;
  prospect.bytes = bytes_of(work.matrix);
  prospect.off_node_bytes = std::accumulate(work.off_node.begin(), work.off_node.end(), 0.0);
  prospect.base = mapping_name(usual->name);
  prospect.best = mapping_name(best->name);
  prospect.cost = usual->cost.total;
  prospect.least = best->cost.total;
  prospect.remote = usual->cost.remote_share;
  prospect.least_remote = best->cost.remote_share;
  prospect.numbers = model.numbers();
  // A recording of a moment does not tell which share of a run its messages take.
  prospect.run_seconds = work.seconds > prospect.cost ? work.seconds : 0;
  return prospect;
}

Result<Prospect> predict_second_run(TrafficSource& source, const TrafficOptions& traffic,
                                    const MachineOptions& machine) {
  const auto* profile = std::get_if<ProfileReader>(&source);
  if (profile != nullptr && profile->nodes().size() > 1)
    return Error(
        fmt::format("'{}' is of {} nodes; give the file of one node, or use 'ondeloc place'",
                    name_of_input(traffic.file), profile->nodes().size()));
  const auto choice = load_machine_choice(machine);
  if (!choice) return choice.error();
  const auto work = read_workload(source, traffic);
  if (!work) return work.error();
  SlotOptions slots;
  slots.cpus_per_task = recorded_cpus_per_task(source, traffic.file, *choice, work->matrix.ranks);
  auto layout = plan_layout(*choice, machine, slots, work->matrix, "");
  if (!layout) return std::move(layout).error();
  layout->off_node = work->off_node;
  const Traffic sums(work->matrix.with_ranks(layout->ranks));
  const std::string base = "packed";
  std::vector<TriedMapping> tried;
  for (const std::string& name : {base, offline_algorithm("", layout->ranks)}) {
    const auto result = run_algorithm(name, *layout, sums);
    if (!result) return result.error();
    tried.push_back({name, result->cost});
  }
  return prospect_of(tried, base, *work, layout->model);
}

}  // namespace ondeloc::cli
