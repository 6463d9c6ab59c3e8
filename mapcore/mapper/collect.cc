// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/collect.h"

#include <fmt/format.h>

#include <algorithm>

#include "mapcore/base/joules_text.h"
#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/binding/memory.h"
#include "mapcore/decide/levels.h"
#include "mapcore/mapper/adapter_bytes.h"
#include "mapcore/mapper/rank_list.h"
#include "mapcore/mapper/report_levels.h"
#include "mapcore/options/option_table.h"
#include "mapcore/step/rank_notes.h"

namespace ondeloc {
namespace {

void add_ranks(const MapperState& state, Report& report) {
  for (const LocalRank local : state.ranks.ids()) {
    const RankState& rank = state.ranks.at(local);
    ReportRank line;
    line.rank = rank.world.value;
    line.local = local.value;
    line.pid = rank.attached() ? rank.process : rank.gone;
    line.threads = rank.threads;
    line.initial_cpus = line.start_cpus = line.final_cpus = rank.initial.to_list();
    if (state.placement != nullptr) {
      const RankBindings& bindings = state.placement->bindings();
      line.start_cpus = bindings[local].start.to_list();
      line.final_cpus = bindings.mask_of(local).to_list();
      line.migrations = bindings[local].migrations;
      report.migrations += line.migrations;
    }
    if (state.gpus != nullptr) state.gpus->fill(local, line);
    if (state.threads != nullptr) state.threads->fill(local, line);
    if (state.pages != nullptr) state.pages->fill(local, line);
    report.ranks.push_back(std::move(line));
  }
}

void add_matrix(const MapperState& state, Report& report) {
  for (const LocalRank i : state.ranks.ids())
    for (const LocalRank j : state.ranks.ids()) {
      const ondeloc_cell cell = state.counters.total(i.value, j.value);
      if (cell.messages == 0) continue;
      report.matrix.push_back({state.ranks.at(i).world.value, state.ranks.at(j).world.value,
                               cell.bytes, cell.messages});
    }
}

void add_off_node(const MapperState& state, Report& report) {
  auto world = [&](int local) { return state.ranks.at(LocalRank(local)).world.value; };
  for (int i = 0; i < state.ranks.count(); ++i) {
    const ondeloc_cell off = state.counters.total_off_node(i);
    if (off.messages > 0) report.off_node.push_back({world(i), -1, off.bytes, off.messages});
    for (const auto& [peer, cell] : state.counters.off_node_by_peer(state.view, i))
      if (cell.messages > 0)
        report.off_node_matrix.push_back(
            {world(i), static_cast<int>(peer), cell.bytes, cell.messages});
    const ondeloc_cell& modelled = state.ranks.all()[static_cast<std::size_t>(i)].modelled;
    if (modelled.messages > 0)
      report.modelled.push_back({world(i), -1, modelled.bytes, modelled.messages});
  }
}

// The values in force, a row for each key.
void add_options(const MapperConfig& config, Report& report) {
  for (const KeyRow& row : key_rows())
    report.options.emplace_back(row.name, row.get(config.options));
}

// The part of the machine that the step has. If no rank attached, nothing was planned, and that
// part is what Slurm bound the tasks to.
Machine part_of_step(const MapperState& state) {
  if (state.placement != nullptr) return state.placement->slots().machine;
  CpuSet bound;
  for (const RankState& rank : state.ranks.all()) bound |= rank.initial;
  return bound.intersects(state.machine.all_pus()) ? restrict_machine(state.machine, bound)
                                                   : state.machine;
}

void add_topology(const MapperState& state, Report& report) {
  const Machine machine = part_of_step(state);
  for (const NumaNode& node : machine.nodes)
    report.numa.push_back({node.os, node.pus.to_list(), node.package});
  for (const CpuSet& core : core_sets(machine)) report.cores.push_back(core.to_list());
  for (const Llc& llc : machine.llcs)
    report.caches.push_back({machine.nodes[llc.node].os, llc.pus.to_list(), llc.bytes});
  report.cpus = machine.all_pus().to_list();
  for (const Device& device : machine.devices)
    report.devices.push_back(
        {device.name, name_of(device.kind), device.pci, device.node, device.near.to_list()});
}

void add_predictions(const MappingRound& round, Report& report) {
  report.model = round.model().sources();
  report.domains = report_domains(round.levels());
  report.remote_share_before = share_between_nodes(round.levels().before);
  report.remote_share_after = share_between_nodes(round.levels().after);
}

// Slurm, a rankfile or the ranks themselves chose these CPUs.
std::string note_of_ranks_away(const Report& report) {
  RankList away;
  for (const ReportRank& rank : report.ranks)
    if (rank.gpus_near_at_end == false) away.add(WorldRank(rank.rank));
  if (away.empty()) return "";
  return fmt::format(
      "GPUs: ranks {} are bound away from their GPUs; `ondeloc topology` lists the CPUs near each",
      away.to_list());
}

// Ranks that the mapper moves are where the cost model wants them: only a rankfile is worth a word.
std::string note_of_far_senders(const MapperState& state, const Report& report) {
  if (state.config.options.mode != Mode::kStatic) return "";
  const RankList far = ranks_far_from_adapters(state.machine.devices, report);
  if (far.empty()) return "";
  return fmt::format(
      "network adapters: ranks {} are bound away from the adapter that they send through; "
      "`ondeloc topology` lists the CPUs near each",
      far.to_list());
}

double sum_of(const std::vector<ReportCell>& cells) {
  double bytes = 0;
  for (const ReportCell& cell : cells) bytes += static_cast<double>(cell.bytes);
  return bytes;
}

// ", the node used 1.2 kJ", if that is known.
std::string energy_phrase(const ReportEnergy& energy) {
  if (!energy.package_joules) return "";
  const double memory = energy.dram_joules.value_or(0);
  return fmt::format(", the node used {}", joules_text(*energy.package_joules + memory));
}

// ", 1.2e+09 cache misses", or why there is no number; empty if the user did not ask for it.
std::string misses_phrase(const ReportCounters& counters) {
  if (counters.cache_misses) return fmt::format(", {:.3g} cache misses", *counters.cache_misses);
  if (counters.why_no_misses.empty()) return "";
  return fmt::format(", cache misses unknown ({})", counters.why_no_misses);
}

// " (25 % far from its adapter)", if the adapters are known.
std::string far_text(const Report& report) {
  double near = 0, far = 0;
  for (const ReportAdapter& adapter : report.adapters) {
    near += static_cast<double>(adapter.near_bytes);
    far += static_cast<double>(adapter.far_bytes);
  }
  if (near + far <= 0) return "";
  return fmt::format(" ({:.0f} % far from its adapter)", 100 * far / (near + far));
}

}  // namespace

void collect_report(const MapperState& state, Report& report) {
  report.job = state.view.header().job_id;
  report.step = state.view.header().step_id;
  report.node = state.config.node;
  report.mode = mode_name(state.config.options.mode);
  const Options& options = state.config.options;
  report.algorithm = options.mode == Mode::kStatic ? "none" : options.algorithm;
  add_options(state.config, report);
  add_topology(state, report);
  if (state.round != nullptr) add_predictions(*state.round, report);
  add_ranks(state, report);
  if (!state.live) add_matrix(state, report);
  add_off_node(state, report);
  report.adapters = bytes_by_adapter(state.machine.devices, report);
  if (!state.config.raised_interval.empty()) report.notes.push_back(state.config.raised_interval);
  for (const RankNote& note : notes_of_ranks(state.ranks)) report.notes.push_back(note.text);
  if (auto lost = note_of_lost_counts(state.ranks)) report.notes.push_back(*std::move(lost));
  if (!state.config.no_events.empty()) report.notes.push_back(state.config.no_events);
  if (state.placement != nullptr) {
    const auto notes = state.placement->notes().texts();
    report.notes.insert(report.notes.end(), notes.begin(), notes.end());
  }
  if (state.threads != nullptr) {
    for (std::string& note : state.threads->notes(state.ranks))
      report.notes.push_back(std::move(note));
  }
  if (std::string far = state.pages != nullptr ? state.pages->note(state.ranks) : ""; !far.empty())
    report.notes.push_back(std::move(far));
  if (std::string away = note_of_ranks_away(report); !away.empty())
    report.notes.push_back(std::move(away));
  if (std::string far = note_of_far_senders(state, report); !far.empty())
    report.notes.push_back(std::move(far));
  if (state.gpus != nullptr && state.machine.nodes.size() > 1) {  // with one node all are near
    for (std::string& note : state.gpus->notes(state.ranks))
      report.notes.push_back(std::move(note));
  }
  if (numa_balancing_on())
    report.notes.push_back("kernel.numa_balancing is on: the kernel moves pages too");
}

Run run_of(const Report& report) {
  Run run;
  for (const ReportInterval& interval : report.intervals) {
    RunStep step;
    step.begin = run.seconds();
    step.end = interval.t;
    step.looked_seconds = step.end - step.begin;
    step.bytes = interval.bytes;
    step.off_node_bytes = interval.off_node_bytes;
    step.cost = interval.cost_before;
    step.remote_before = interval.remote_share_before;
    step.remote_after = interval.remote_share_after;
    step.decision = {decision_of(interval.decision).value_or(DecisionKind::kWaits),
                     interval.gain,
                     interval.threshold,
                     interval.migration,
                     interval.horizon,
                     interval.ledger};
    step.moved = interval.moved;
    step.count = interval.count;
    run.steps.push_back(std::move(step));
  }
  run.saved = saved_by(run);
  run.remaps = static_cast<std::size_t>(std::max(report.remaps, 0));
  run.bound_once = report.mode == mode_name(Mode::kStatic);
  run.attached = std::any_of(report.ranks.begin(), report.ranks.end(),
                             [](const ReportRank& rank) { return rank.pid > 0; });
  run.left_alone = !run.attached && !tells_nobody_called(report.notes);
  run.bytes = sum_of(report.matrix);
  run.off_node_bytes = sum_of(report.off_node);
  run.crossing_at_start = report.remote_share_before;
  run.crossing_as_moved = report.remote_share_after;
  return run;
}

namespace {

std::string moves_and_cost(const Report& report) {
  const auto count = [](int number, const char* noun) {
    return counted(static_cast<std::size_t>(number), noun);
  };
  return fmt::format("{}, {}, mapper {} CPU of {}", count(report.remaps, "remap"),
                     count(report.migrations, "migration"),
                     seconds_text(report.mapper_cpu_ms * 1e-3),
                     seconds_text(report.wall_ms * 1e-3));
}

}  // namespace

std::string summary_line(const Report& report) {
  const double bytes = sum_of(report.matrix), off_node = sum_of(report.off_node);
  return fmt::format(
      "{}: {}, {} between them{}, {}{}", report.node, counted(report.ranks.size(), "rank"),
      bytes_text(bytes),
      off_node > 0 ? fmt::format(", {} to other nodes{}", bytes_text(off_node), far_text(report))
                   : "",
      moves_and_cost(report), energy_phrase(report.energy) + misses_phrase(report.counters));
}

std::string log_line(const Report& report) {
  std::string program;
  for (const auto& [key, value] : report.origin)
    if (key == "program") program = shorten(value.substr(value.rfind('/') + 1)) + ", ";
  const bool is_online = report.mode == mode_name(Mode::kOnline);
  return fmt::format("{}, {}{}, {}{}", report.mode, program, counted(report.ranks.size(), "rank"),
                     moves_and_cost(report), is_online ? "; " + verdict(run_of(report)) : "");
}

}  // namespace ondeloc
