// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/cli.h"

#include <fmt/format.h>

#include <chrono>

#include "mapcore/base/new_file.h"
#include "mapcore/base/text.h"
#include "mapcore/comm/matrix_io.h"
#include "mapcore/map/lama.h"
#include "mapcore/topology/load.h"

namespace ondeloc::cli {

void add_machine_options(CLI::App& command, MachineOptions& options) {
  constexpr const char* kGroup = "Machine";
  command
      .add_option("-t,--topology", options.topology,
                  "host, an hwloc XML file, or an hwloc synthetic string such as "
                  "'numa:2 core:8 pu:2' (default: host)")
      ->group(kGroup);
  command
      .add_option("--cpuset", options.cpuset, "use only these CPUs (OS numbers, such as 2-3,5-6)")
      ->group(kGroup);
  command
      .add_option("--bandwidth", options.overrides.bandwidth,
                  "memory bandwidth of a NUMA node, bytes/s (default: hwloc's, else 20e9)")
      ->check(CLI::PositiveNumber)
      ->group(kGroup);
  command
      .add_option("--link-bandwidth", options.overrides.link_bandwidth,
                  "bandwidth between two NUMA nodes, bytes/s (default: hwloc's, else the "
                  "node's divided by the relative distance)")
      ->check(CLI::PositiveNumber)
      ->group(kGroup);
  command
      .add_option("--remote-distance", options.overrides.remote_distance,
                  "distance between two NUMA nodes, 10 = local (default: hwloc's, else 21)")
      ->check(CLI::Range(10.0, 1e6))
      ->group(kGroup);
}

Result<Place> load_place(const MachineOptions& options) {
  auto whole = load_machine(options.topology);
  if (!whole) return std::move(whole).error();
  Place place{*std::move(whole), {}, {}, {}};
  place.usable = place.whole.allowed;
  if (!options.cpuset.empty()) {
    const auto wanted = CpuSet::parse_list(options.cpuset);
    if (!wanted) return Error(wanted.error()).within("--cpuset");
    place.usable &= *wanted;
  }
  if (place.usable.empty()) {
    return Error(fmt::format("--cpuset: none of the CPUs {} is in the topology, whose CPUs are {}",
                             shorten(options.cpuset), shorten(place.whole.allowed.to_list())));
  }
  place.machine = restrict_machine(place.whole, place.usable);
  place.model = CostModel::from(place.machine, options.overrides);
  return place;
}

void add_slot_options(CLI::App& command, SlotOptions& options) {
  command
      .add_option("-n,--ranks", options.ranks,
                  "number of ranks, where the last ones talk to nobody (default: those of the "
                  "matrix)")
      ->check(CLI::Range(1, kMaxMatrixRanks));
  command.add_option("-c,--cpus-per-task", options.cpus_per_task, "CPUs of each rank (default: 1)")
      ->check(CLI::Range(1, CpuSet::kMaxCpu));
  command.add_flag("--oversubscribe", options.oversubscribe,
                   "let ranks share CPUs where there are not enough");
}

namespace {

Status check_fits(const Place& place, const SlotOptions& options, int ranks) {
  const int cpus = place.usable.count();
  if (options.oversubscribe || ranks <= cpus / options.cpus_per_task) return {};
  return Error(fmt::format(
      "{} ranks of {} CPU{} each do not fit on {} CPU{}: use --oversubscribe to let them share",
      ranks, options.cpus_per_task, options.cpus_per_task == 1 ? "" : "s", cpus,
      cpus == 1 ? "" : "s"));
}

}  // namespace

Result<Layout> plan_layout(const Place& place, const MachineOptions& machine,
                           const SlotOptions& options, const CommMatrix& matrix,
                           const std::string& previous) {
  int ranks = std::max(matrix.ranks, options.ranks);
  if (options.ranks > 0 && options.ranks < matrix.ranks)
    return Error(fmt::format("--ranks: {} is below the {} ranks of the matrix", options.ranks,
                             matrix.ranks));
  if (Status good = check_fits(place, options, ranks); !good) return std::move(good).error();
  if (previous.empty()) {
    SlotSet slots = slots_for(place.machine, place.usable, ranks, options.cpus_per_task);
    if (options.single_threads && ranks <= place.usable.count())
      slots = cut_slots(place.machine, place.usable, 1, false);
    return Layout{place.machine, std::move(slots), place.model, {}, &place.whole, ranks};
  }
  const auto placement =
      read_placement(previous, place.whole, place.usable, ranks, matrix.may_have_more);
  if (!placement) return placement.error();
  ranks = static_cast<int>(placement->size());
  SlotRequest request{*placement, options.cpus_per_task, place.usable};
  for (const CpuSet& pus : *placement) request.idle -= pus;
  auto plan = plan_slots(place.machine, request);
  if (!plan) return std::move(plan).error();
  CostModel model = CostModel::from(plan->machine, machine.overrides);
  return Layout{std::move(plan->machine), std::move(plan->slots), std::move(model),
                std::move(plan->initial), &place.whole,           ranks};
}

Result<TimedMapping> timed_mapping(const Layout& layout, const Traffic& traffic,
                                   const Compute& compute) {
  const MapRequest request{layout.machine,  layout.slots, traffic,     layout.model,
                           layout.previous, {},           layout.whole};
  const auto begin = std::chrono::steady_clock::now();
  auto mapping = compute(request);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (!mapping) return std::move(mapping).error();
  TimedMapping result{*std::move(mapping), {}, 0, took.count()};
  result.cost = evaluate(layout.model, layout.slots, traffic, result.mapping);
  result.migrations = count_migrations(layout.slots, layout.previous, result.mapping);
  return result;
}

Result<TimedMapping> run_algorithm(const std::string& spec, const Layout& layout,
                                   const Traffic& traffic) {
  return timed_mapping(layout, traffic, [&spec](const MapRequest& request) {
    return compute_mapping(spec, request);
  });
}

void add_output_options(CLI::App& command, OutputOptions& options) {
  command
      .add_option("-f,--format", options.format,
                  "table, json, rankfile (mpirun, --ondeloc=static:), or cpu-bind (srun) "
                  "(default: table)")
      ->check(CLI::IsMember({"table", "json", "rankfile", "cpu-bind"}));
  command.add_option("-o,--output", options.output, "write to this file");
}

bool is_lama(const std::string& spec) { return split_algorithm(spec).name == "lama"; }

namespace {

// lama:...,bind= says how much round its thread a rank gets.
Placement bound(const std::string& algorithm, const Place& place, Placement placement) {
  if (!is_lama(algorithm)) return placement;
  const auto layout = parse_lama(split_algorithm(algorithm).argument);
  if (!layout || !layout->has_bind) return placement;
  for (CpuSet& pus : placement) pus = lama_binding(place.machine, layout->bind, PuOs(pus.first()));
  return placement;
}

Result<std::string> mapping_text(const std::string& format, const std::string& algorithm,
                                 const Place& place, const Layout& layout,
                                 const TimedMapping& result) {
  const Placement placement = bound(algorithm, place, placement_of(layout.slots, result.mapping));
  const MappingReport report{algorithm, result.cost, result.migrations, result.seconds};
  if (format == "rankfile") return to_rankfile(place.whole, place.usable, placement);
  if (format == "cpu-bind") return to_cpu_bind(placement);
  if (format == "json") return to_json(layout.machine, placement, report);
  return to_table(layout.machine, placement, report);
}

}  // namespace

Result<std::string> put_mapping(const OutputOptions& options, const std::string& algorithm,
                                const Place& place, const Layout& layout,
                                const TimedMapping& result) {
  auto text = mapping_text(options.format, algorithm, place, layout, result);
  if (!text || options.output.empty()) return text;
  if (Status written = write_new_file(options.output, *text); !written)
    return std::move(written).error();
  return std::string();
}

Status check_output(const std::string& input, const std::string& output) {
  if (!same_file(input, output)) return {};
  return Error(fmt::format("'{}' is the input: write elsewhere", shorten(output)));
}

std::string seconds_text(double seconds) {
  if (seconds == 0) return "0 s";
  if (seconds < 1e-6) return fmt::format("{:.3g} ns", seconds * 1e9);
  if (seconds < 1e-3) return fmt::format("{:.3g} us", seconds * 1e6);
  if (seconds < 1) return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} s", seconds);
}

std::string bytes_text(double bytes) {
  constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(kUnits); ++unit) bytes /= 1000;
  return fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.4f}", *share) : "-";
}

}  // namespace ondeloc::cli
