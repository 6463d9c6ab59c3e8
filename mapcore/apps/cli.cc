// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/cli.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "mapcore/base/new_file.h"
#include "mapcore/base/read_file.h"
#include "mapcore/base/text.h"
#include "mapcore/comm/matrix_io.h"
#include "mapcore/map/lama.h"
#include "mapcore/topology/load.h"

namespace ondeloc::cli {

CLI::Validator finite(double least, double most, const std::string& unit) {
  const auto check = [=](const std::string& text) {
    const auto value = parse_double(text);
    if (value && *value >= least && *value <= most) return std::string();
    return fmt::format("'{}' is not a number{} from {:g} to {:g}", shorten(text),
                       unit.empty() ? "" : " of " + unit, least, most);
  };
  return {check, fmt::format("FLOAT in [{:g} - {:g}]", least, most)};
}

CLI::Validator not_empty() {
  const auto check = [](const std::string& text) {
    return text.empty() ? "there is nothing in it: give a value, or leave the option out"
                        : std::string();
  };
  return {check, ""};
}

void add_machine_options(CLI::App& command, MachineOptions& options) {
  constexpr const char* kGroup = "Machine";
  command
      .add_option("-t,--topology", options.topology,
                  "host, an hwloc XML file, or an hwloc synthetic string such as "
                  "'numa:2 core:8 pu:2' (default: host)")
      ->check(not_empty())
      ->group(kGroup);
  command
      .add_option("--cpuset", options.cpuset, "use only these CPUs (OS numbers, such as 2-3,5-6)")
      ->check([](const std::string& text) {
        return trim_blanks(text).empty() ? "no CPU in it, give a list such as 2-3,5-6"
                                         : std::string();
      })
      ->group(kGroup);
  command
      .add_option(
          "--bandwidth", options.overrides.bandwidth,
          "memory bandwidth of a NUMA node in bytes/s, such as 20e9 (default: hwloc's, else 20e9)")
      ->check(finite(1, 1e18, "bytes/s"))
      ->group(kGroup);
  command
      .add_option("--link-bandwidth", options.overrides.link_bandwidth,
                  "bandwidth between two NUMA nodes, bytes/s (default: hwloc's unless "
                  "--bandwidth is given, else the node's divided by the relative distance)")
      ->check(finite(1, 1e18, "bytes/s"))
      ->group(kGroup);
  command
      .add_option("--remote-distance", options.overrides.remote_distance,
                  "distance between two NUMA nodes, 10 = local (default: hwloc's, else 21)")
      ->check(finite(10, 1e6))
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
    if (const CpuSet beyond = *wanted - place.whole.allowed; !beyond.empty()) {
      return Error(
          fmt::format("--cpuset: CPUs {} are not among those of the topology, which are {}",
                      shorten(beyond.to_list()), shorten(place.whole.allowed.to_list())));
    }
    place.usable = *wanted;
  }
  place.machine = restrict_machine(place.whole, place.usable);
  place.model = CostModel::from(place.machine, options.overrides);
  return place;
}

void add_ranks_option(CLI::App& command, int& ranks) {
  command
      .add_option("-n,--ranks", ranks,
                  "number of ranks, where the last ones talk to nobody (default: those of the "
                  "matrix)")
      ->check(CLI::Range(1, kMaxMatrixRanks));
}

Result<int> number_of_ranks(const CommMatrix& matrix, int wanted) {
  if (wanted == 0 || wanted >= matrix.ranks) return std::max(matrix.ranks, wanted);
  return Error(
      fmt::format("--ranks: {} is below the {} ranks of the matrix", wanted, matrix.ranks));
}

void add_slot_options(CLI::App& command, SlotOptions& options) {
  add_ranks_option(command, options.ranks);
  command
      .add_option("-c,--cpus-per-task", options.cpus_per_task,
                  "CPUs of each rank (default: 1, or a whole core while there are enough)")
      ->check(CLI::Range(1, CpuSet::kMaxCpu));
  command.add_flag("--oversubscribe", options.oversubscribe,
                   "let ranks share CPUs where there are not enough");
}

namespace {

Status check_fits(const Place& place, const MachineOptions& machine, const SlotOptions& options,
                  int ranks, const std::string& previous) {
  const int cpus = place.usable.count(), each = std::max(1, options.cpus_per_task);
  if (each > 1 && options.single_threads && previous.empty())
    return Error(
        "--cpus-per-task: lama places hardware threads; say in the layout how much round its "
        "thread a rank gets, such as lama:scbnh/bind=2c");
  if (each > cpus)
    return Error(fmt::format("--cpus-per-task: {} CPUs a rank, and there {} {} in all", each,
                             cpus == 1 ? "is" : "are", cpus));
  if (options.oversubscribe || ranks <= cpus / each) return {};
  const bool host = machine.topology == "host";
  return Error(fmt::format(
      "{} ranks of {} CPU{} each do not fit on {}{} CPU{}{}: {}use --oversubscribe to let them "
      "share",
      ranks, each, each == 1 ? "" : "s", host ? "the " : "", cpus, cpus == 1 ? "" : "s",
      host ? " of this machine" : "",
      host ? "say with --topology which machine they run on, or " : ""));
}

// For lama each hardware thread is a slot, and where ranks share, as often as any other: the
// layout says which are taken.
SlotSet free_slots(const Place& place, const SlotOptions& options, int ranks) {
  const int cpus = place.usable.count(), each = std::max(1, options.cpus_per_task);
  if (options.single_threads)
    return shared_slots(place.machine, place.usable, (ranks + cpus - 1) / cpus * cpus, 1);
  if (ranks <= cpus / each) return slots_for(place.machine, place.usable, ranks, each);
  return shared_slots(place.machine, place.usable, ranks, each);
}

// Idle hardware threads of cores in use: no place to go beside idle cores, and without a present
// mapping nobody would be put there.
CpuSet idle_siblings(const Machine& machine, const CpuSet& used) {
  std::set<int> cores;
  for (const Pu& pu : machine.pus)
    if (used.test(pu.os) && pu.at(Level::kCore) >= 0) cores.insert(pu.at(Level::kCore));
  CpuSet siblings;
  for (const Pu& pu : machine.pus)
    if (!used.test(pu.os) && cores.contains(pu.at(Level::kCore))) siblings.set(pu.os);
  return siblings;
}

// The CPUs of a present mapping are the slots, whatever --cpus-per-task says.
Status check_widths(const SlotPlan& plan, const SlotOptions& options, const std::string& previous) {
  for (std::size_t rank = 0; options.cpus_per_task > 0 && rank < plan.initial.size(); ++rank) {
    const int count = plan.slots[static_cast<std::size_t>(plan.initial[rank].value)].pus.count();
    if (count >= options.cpus_per_task) continue;  // whole cores may be more
    return Error(fmt::format(
        "--cpus-per-task: {}, but mapping '{}' gives rank {} {} CPU{}: leave "
        "the option out to use the CPUs of the mapping",
        options.cpus_per_task, name_of_input(previous), rank, count, count == 1 ? "" : "s"));
  }
  return {};
}

}  // namespace

Result<Layout> plan_layout(const Place& place, const MachineOptions& machine,
                           const SlotOptions& options, const CommMatrix& matrix,
                           const std::string& previous) {
  const auto wanted = number_of_ranks(matrix, options.ranks);
  if (!wanted) return wanted.error();
  int ranks = *wanted;
  if (Status good = check_fits(place, machine, options, ranks, previous); !good)
    return std::move(good).error();
  if (previous.empty()) {
    return Layout{place.machine, free_slots(place, options, ranks), place.model, {}, &place.whole,
                  ranks};
  }
  const auto placement = read_placement(previous, place.whole, place.usable,
                                        {ranks, matrix.may_have_more && options.ranks == 0, {}});
  if (!placement) return placement.error();
  ranks = static_cast<int>(placement->size());
  SlotRequest request{*placement, std::max(1, options.cpus_per_task), place.usable};
  request.bound = true;
  CpuSet used;
  for (const CpuSet& pus : *placement) used |= pus;
  request.idle -= used;
  request.idle -= idle_siblings(place.machine, used);
  auto plan = plan_slots(place.machine, request);
  if (!plan) return std::move(plan).error();
  if (plan->uneven)
    return Error(
        fmt::format("mapping '{}' gives its ranks CPUs in different numbers: "
                    "none can take another's place",
                    name_of_input(previous)));
  if (Status same = check_widths(*plan, options, previous); !same) return std::move(same).error();
  CostModel model = CostModel::from(plan->machine, machine.overrides);
  return Layout{std::move(plan->machine), std::move(plan->slots), std::move(model),
                std::move(plan->initial), &place.whole,           ranks};
}

SlotSet slots_of(const Machine& machine, const RankCpus& placement) {
  SlotSet slots;
  for (const CpuSet& pus : placement) slots.push_back(make_slot(machine, pus));
  SlotRequest request{placement, 1, {}};
  request.bound = true;
  const auto plan = plan_slots(machine, request);
  if (!plan || !plan->shared) return slots;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    const Slot& dealt = plan->slots[static_cast<std::size_t>(plan->initial[i].value)];
    slots[i].node = make_slot(machine, dealt.pus).node;
  }
  return slots;
}

namespace {

// lama:...,bind= says how much round its thread a rank gets. Ranks that have all the same CPUs of
// several nodes count as evaluate counts them.
SlotSet slots_of_ranks(const std::string& spec, const Layout& layout, const Mapping& mapping) {
  SlotSet slots;
  for (const SlotIndex slot : mapping)
    slots.push_back(layout.slots[static_cast<std::size_t>(slot.value)]);
  std::optional<LamaLayout> lama;
  if (is_lama(spec)) {
    if (auto parsed = parse_lama(split_algorithm(spec).argument)) lama = *std::move(parsed);
  }
  RankCpus bound;
  for (const Slot& slot : slots)
    bound.push_back(lama && lama->has_bind
                        ? lama_binding(layout.machine, lama->bind, PuOs(slot.pus.first()))
                        : slot.pus);
  return slots_of(layout.machine, bound);
}

int moves_from(const Layout& layout, const SlotSet& slots) {
  int moved = 0;
  for (std::size_t rank = 0; rank < layout.previous.size(); ++rank) {
    const auto before = static_cast<std::size_t>(layout.previous[rank].value);
    if (layout.slots[before].node != slots[rank].node) ++moved;
  }
  return moved;
}

}  // namespace

Result<TimedMapping> timed_mapping(const std::string& spec, const Layout& layout,
                                   const Traffic& traffic, const Compute& compute) {
  const MapRequest request{layout.machine,  layout.slots,    traffic,     layout.model,
                           layout.previous, layout.off_node, layout.whole};
  const auto begin = std::chrono::steady_clock::now();
  auto mapping = compute(request);
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  if (!mapping) return std::move(mapping).error();
  TimedMapping result{*std::move(mapping), {}, {}, 0, took.count()};
  result.slots = slots_of_ranks(spec, layout, result.mapping);
  Mapping own;  // rank i on slot i of `slots`
  while (own.size() < result.slots.size()) own.emplace_back(static_cast<int>(own.size()));
  result.cost = evaluate(layout.model, result.slots, traffic, own, layout.off_node);
  result.migrations = moves_from(layout, result.slots);
  return result;
}

Result<TimedMapping> run_algorithm(const std::string& spec, const Layout& layout,
                                   const Traffic& traffic) {
  return timed_mapping(spec, layout, traffic, [&spec](const MapRequest& request) {
    return compute_mapping(spec, request);
  });
}

Status check_algorithm(const std::string& named) {
  if (named.empty()) return {};
  if (auto known = find_algorithm(named); !known) return std::move(known).error();
  return {};
}

bool is_lama(const std::string& spec) { return split_algorithm(spec).name == "lama"; }

void add_output_options(CLI::App& command, OutputOptions& options) {
  command
      .add_option("-f,--format", options.format,
                  "table, json, rankfile (mpirun, --ondeloc=static:), or cpu-bind (srun) "
                  "(default: table)")
      ->check(CLI::IsMember({"table", "json", "rankfile", "cpu-bind"}));
  command.add_flag("--relative", options.relative,
                   "a rankfile counts cores inside the CPUs in use (--cpuset, the cgroup), as "
                   "mpirun in a part of a node and --ondeloc=static:FILE,relative do");
  command
      .add_option("-o,--output", options.output, "write to this file (default: -, standard output)")
      ->check(not_empty());
}

Status check_format(const OutputOptions& options) {
  if (!options.relative || options.format == "rankfile") return {};
  return Error("--relative goes with --format rankfile only");
}

namespace {

Result<std::string> mapping_text(const OutputOptions& options, const std::string& algorithm,
                                 const Place& place, const Layout& layout,
                                 const TimedMapping& result) {
  RankCpus placement;
  for (const Slot& slot : result.slots) placement.push_back(slot.pus);
  const MappingReport report{algorithm, result.cost, result.migrations, result.seconds};
  if (options.format == "rankfile")
    return to_rankfile(options.relative ? place.machine : place.whole, place.usable, placement,
                       layout.names, options.relative);
  if (options.format == "cpu-bind") return to_cpu_bind(placement);
  if (options.format == "json") return to_json(layout.machine, placement, report, layout.names);
  return to_table(layout.machine, placement, report, layout.names);
}

}  // namespace

Result<std::string> put_mapping(const OutputOptions& options, const std::string& algorithm,
                                const Place& place, const Layout& layout,
                                const TimedMapping& result) {
  auto text = mapping_text(options, algorithm, place, layout, result);
  if (!text || options.output.empty()) return text;
  if (Status written = write_new_file(options.output, *text); !written)
    return std::move(written).error();
  return std::string();
}

Status check_output(const std::string& input, const std::string& output) {
  if (input.empty() || output.empty() || !would_replace(input, output)) return {};
  return Error(fmt::format("'{}' is the input: write elsewhere", shorten_path(output)));
}

Status check_files(const Inputs& inputs, const MachineOptions& machine, const std::string& output) {
  if (std::count(inputs.begin(), inputs.end(), "-") > 1)
    return Error("standard input (-) can be read only once: name a file for the other input");
  for (const std::string& input : inputs) {
    if (Status good = check_output(input, output); !good) return good;
  }
  return machine.topology == "host" ? Status() : check_output(machine.topology, output);
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.4f}", *share) : "-";
}

}  // namespace ondeloc::cli
