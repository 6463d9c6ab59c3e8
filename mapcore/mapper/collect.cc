// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/collect.h"

#include <fmt/format.h>

#include <algorithm>

#include "mapcore/binding/memory.h"
#include "mapcore/mapper/rank_notes.h"

namespace ondeloc {
namespace {

void add_ranks(const MapperState& state, Report& report) {
  for (int i = 0; i < state.ranks.count(); ++i) {
    const RankState& rank = state.ranks.all()[static_cast<std::size_t>(i)];
    const pid_t pid = rank.attached() ? rank.process : rank.gone;
    ReportRank line{rank.world.value, i, pid, rank.initial.to_list(), rank.initial.to_list(), 0};
    if (state.placement != nullptr) {
      line.final_cpus = state.placement->bound_to(LocalRank(i)).to_list();
      line.migrations = state.placement->migrations_of(LocalRank(i));
      report.migrations += line.migrations;
    }
    report.ranks.push_back(std::move(line));
  }
}

void add_matrix(const MapperState& state, Report& report) {
  auto world = [&](int local) {
    return state.ranks.all()[static_cast<std::size_t>(local)].world.value;
  };
  for (int i = 0; i < state.ranks.count(); ++i) {
    for (int j = 0; j < state.ranks.count(); ++j) {
      const ondeloc_cell& cell = state.counters.total(i, j);
      if (i == j || cell.messages == 0) continue;
      report.matrix.push_back({world(i), world(j), cell.bytes, cell.messages});
    }
    const ondeloc_cell& off = state.counters.total_off_node(i);
    if (off.messages > 0) report.off_node.push_back({world(i), -1, off.bytes, off.messages});
  }
}

template <class T>
std::string text_of(T value, std::initializer_list<const char*> names) {
  return names.begin()[static_cast<std::size_t>(value)];
}

std::string yes_or_no(bool value) { return value ? "yes" : "no"; }

// One for every row of key_rows(), in that order.
void add_options(const MapperConfig& config, Report& report) {
  const Options& o = config.options;
  const std::uint32_t interval = std::max(o.interval_ms, config.min_interval_ms);
  report.options = {{"algorithm", o.algorithm},
                    {"interval", fmt::format("{}ms", interval)},
                    {"max-interval", fmt::format("{}ms", std::max(o.max_interval_ms, interval))},
                    {"slope", fmt::format("{}", o.slope)},
                    {"threshold", fmt::format("{}", o.threshold)},
                    {"decide", text_of(o.decide, {"auto", "always", "never"})},
                    {"transport", text_of(o.transport, {"auto", "shm", "pmix"})},
                    {"memory", text_of(o.memory, {"auto", "follow", "stay"})},
                    {"report", o.report},
                    {"cells", fmt::format("{}", o.cells)},
                    {"on-error", text_of(o.on_error, {"fail", "warn"})},
                    {"relative", yes_or_no(o.relative)},
                    {"verbose", yes_or_no(o.verbose)}};
}

// Where nobody attached nothing was planned: what Slurm bound the tasks to is the step's part.
Machine part_of_step(const MapperState& state) {
  if (state.placement != nullptr) return state.placement->slots().machine;
  CpuSet bound;
  for (const RankState& rank : state.ranks.all()) bound |= rank.initial;
  return bound.intersects(state.machine.all_pus()) ? restrict_machine(state.machine, bound)
                                                   : state.machine;
}

void add_topology(const MapperState& state, Report& report) {
  const Machine machine = part_of_step(state);
  for (const NumaNode& node : machine.nodes) report.numa.emplace_back(node.os, node.pus.to_list());
  report.cpus = machine.all_pus().to_list();
}

}  // namespace

void collect_report(const MapperState& state, Report& report) {
  report.job = state.view.header().job_id;
  report.step = state.view.header().step_id;
  report.node = state.config.node;
  report.mode = mode_name(state.config.options.mode);
  report.algorithm = state.config.options.algorithm;
  add_options(state.config, report);
  add_topology(state, report);
  add_ranks(state, report);
  add_matrix(state, report);
  for (const RankNote& note : notes_of_ranks(state.ranks)) report.notes.push_back(note.text);
  if (auto lost = note_of_lost_counts(state.ranks)) report.notes.push_back(*std::move(lost));
  if (!state.config.no_events.empty()) report.notes.push_back(state.config.no_events);
  if (state.placement != nullptr) {
    const auto& notes = state.placement->notes();
    report.notes.insert(report.notes.end(), notes.begin(), notes.end());
  }
  if (numa_balancing_on())
    report.notes.push_back("kernel.numa_balancing is on: the kernel moves pages too");
}

std::string summary_line(const Report& report) {
  double bytes = 0;
  for (const ReportCell& cell : report.matrix) bytes += static_cast<double>(cell.bytes);
  std::string shares;
  for (const ReportInterval& interval : report.intervals) {
    if (interval.remapped && interval.remote_share_before && interval.remote_share_after) {
      shares = fmt::format(", remote share {:.2f} -> {:.2f} at the last",
                           *interval.remote_share_before, *interval.remote_share_after);
    }
  }
  return fmt::format(
      "{}: {} ranks, {:.1f} MB between them, {} remaps, {} migrations{}, mapper {:.0f} ms CPU of "
      "{:.1f} s",
      report.node, report.ranks.size(), bytes / 1e6, report.remaps, report.migrations, shares,
      report.mapper_cpu_ms, report.wall_ms / 1000);
}

}  // namespace ondeloc
