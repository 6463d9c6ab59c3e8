// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/cli.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <set>

#include "mapcore/base/new_file.h"
#include "mapcore/base/read_file.h"
#include "mapcore/base/text.h"
#include "mapcore/comm/matrix_io.h"
#include "mapcore/input/placement_source.h"
#include "mapcore/map/lama.h"
#include "mapcore/map/shared_slots.h"
#include "mapcore/topology/load.h"

namespace ondeloc::cli {

CLI::Validator finite(double least, double most) {
  const auto check = [=](const std::string& text) {
    const auto value = parse_double(text);
    if (value && *value >= least && *value <= most) return std::string();
    return fmt::format("'{}' is not a number from {:g} to {:g}", shorten(text), least, most);
  };
  return {check, fmt::format("FLOAT in [{:g} - {:g}]", least, most)};
}

CLI::Validator quantity(Quantity kind, double least, double most) {
  const auto read = [=](std::string& text) {
    const auto value = parse_quantity(text, kind);
    if (!value) return value.error().message();
    if (*value < least || *value > most)
      return fmt::format("'{}' is out of range; use a value from {} to {}", shorten(text),
                         argument_text(least, kind), argument_text(most, kind));
    text = fmt::format("{:.17g}", *value);
    return std::string();
  };
  return {read, "", "quantity"};
}

CLI::Validator not_empty() {
  const auto check = [](const std::string& text) {
    return text.empty() ? "the value is empty; give one, or leave the option out" : std::string();
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
        return trim_blanks(text).empty() ? "the list holds no CPU; give a list such as 2-3,5-6"
                                         : std::string();
      })
      ->group(kGroup);
  command
      .add_option("--devices", options.devices,
                  "network adapters and GPUs: off, host, or an hwloc XML file (default: those of "
                  "the topology); bytes to other nodes cost more far from an adapter")
      ->check(not_empty())
      ->group(kGroup);
  constexpr double kMost = 1e18;
  add_quantity(command, "--bandwidth", options.overrides.bandwidth, Quantity::kBytesPerSecond, 1,
               kMost,
               "memory bandwidth of a NUMA node, such as 20GB/s (default: hwloc's, else 20GB/s)")
      ->group(kGroup);
  add_quantity(command, "--link-bandwidth", options.overrides.link_bandwidth,
               Quantity::kBytesPerSecond, 1, kMost,
               "bandwidth between two NUMA nodes (default: hwloc's unless --bandwidth is given, "
               "else the node's divided by the relative distance)")
      ->group(kGroup);
  command
      .add_option("--remote-distance", options.overrides.remote_distance,
                  "distance between two NUMA nodes, 10 = local (default: hwloc's, else 21)")
      ->check(finite(10, 1e6))
      ->group(kGroup);
  command
      .add_option("--machine", options.measured,
                  "file of 'ondeloc measure' with the latencies and bandwidths of the machine "
                  "(default: hwloc's numbers and defaults)")
      ->check(not_empty())
      ->group(kGroup);
  command
      .add_option_function<std::string>(
          "--weight",
          [&options](const std::string& name) {
            options.overrides.weight = parse_enum<Weight>(name);
          },
          "weight of a pair of ranks: bytes, messages, or the time of both (default: time with "
          "--machine and on a machine with several last-level caches, else bytes)")
      ->check(CLI::IsMember({"bytes", "messages", "time"}))
      ->group(kGroup);
}

std::string measured_text(const MachineChoice& choice) {
  return choice.measured ? fmt::format("predicted with numbers {}\n", choice.measured->source())
                         : "";
}

namespace {

Status choose_devices(const std::string& devices, Machine& machine) {
  if (devices.empty()) return {};
  if (devices == "off") {
    machine.devices.clear();
    return {};
  }
  // A synthetic string has no devices.
  if (devices != "host" && ::access(devices.c_str(), F_OK) != 0)
    return Error::from_errno(fmt::format("'{}'", shorten_path(devices)));
  return take_devices(devices, machine);
}

}  // namespace

Result<MachineChoice> load_machine_choice(const MachineOptions& options) {
  auto whole = load_machine(options.topology);
  if (!whole) return std::move(whole).error();
  MachineChoice choice{*std::move(whole), {}, {}, {}};
  if (Status good = choose_devices(options.devices, choice.whole); !good)
    return std::move(good).error().within("--devices");
  choice.usable = choice.whole.allowed;
  if (!options.cpuset.empty()) {
    const auto wanted = CpuSet::parse_list(options.cpuset);
    if (!wanted) return Error(wanted.error()).within("--cpuset");
    if (const CpuSet beyond = *wanted - choice.whole.allowed; !beyond.empty()) {
      return Error(
          fmt::format("--cpuset: CPUs {} are not among those of the topology, which are {}",
                      shorten(beyond.to_list()), shorten(choice.whole.allowed.to_list())));
    }
    choice.usable = *wanted;
  }
  choice.machine = restrict_machine(choice.whole, choice.usable);
  choice.overrides = options.overrides;
  choice.overrides.adapters = true;
  if (!options.measured.empty()) {
    auto file = read_machine_file(options.measured);
    if (!file) return std::move(file).error();
    if (Status fits = check_machine_file(*file, choice.whole, shorten_path(options.measured));
        !fits)
      return std::move(fits).error();
    choice.measured = std::make_shared<const MachineFile>(*std::move(file));
    choice.overrides.measured = choice.measured.get();
  }
  choice.model = CostModel::from(choice.machine, choice.overrides);
  return choice;
}

void add_ranks_option(CLI::App& command, int& ranks) {
  command
      .add_option("-n,--ranks", ranks,
                  "number of ranks, if the last ranks send nothing (default: those of the matrix)")
      ->check(CLI::Range(1, kMaxMatrixRanks));
}

Result<int> number_of_ranks(const CommMatrix& matrix, int wanted) {
  if (wanted == 0 || wanted >= matrix.ranks) return std::max(matrix.ranks, wanted);
  return Error(
      fmt::format("--ranks: {} is below the {} ranks of the matrix", wanted, matrix.ranks));
}

PlacedRanks ranks_to_place(const CommMatrix& matrix, int wanted, const std::vector<int>& world) {
  if (!world.empty()) return {world.back() + 1, true, world};
  return {std::max(matrix.ranks, wanted), matrix.may_have_more && wanted == 0, {}};
}

void add_cpus_option(CLI::App& command, int& cpus_per_task, const char* usual) {
  command
      .add_option("-c,--cpus-per-task", cpus_per_task,
                  fmt::format("CPUs of each rank (default: {})", usual))
      ->check(CLI::Range(1, CpuSet::kMaxCpu));
}

void add_slot_options(CLI::App& command, SlotOptions& options, const char* usual_cpus) {
  options.has_oversubscribe = true;
  add_ranks_option(command, options.ranks);
  add_cpus_option(command, options.cpus_per_task, usual_cpus);
  auto* spread = command.add_flag("--spread", options.spread,
                                  "with fewer ranks than CPUs, use all nodes and caches evenly "
                                  "(default if there is more than one node or cache)");
  command
      .add_flag("--pack", options.pack, "with fewer ranks than CPUs, let the algorithm choose CPUs")
      ->excludes(spread);
  command.add_flag("--oversubscribe", options.oversubscribe,
                   "let ranks share CPUs if there are not enough");
}

void add_previous_option(CLI::App& command, const std::string& names, std::string& file,
                         const std::string& help) {
  command.add_option(names, file, help)
      ->check(not_empty())
      ->excludes(command.get_option("--spread"))
      ->excludes(command.get_option("--pack"));
}

Status check_lama_width(int cpus_per_task) {
  if (cpus_per_task <= 1) return {};
  return Error(
      "--cpus-per-task: lama places hardware threads; give the width in the layout, such as "
      "lama:scbnh/bind=2c");
}

namespace {

// `on_host`: the ranks do not fit on this machine. Names only options that the command has.
std::string ways_to_fit(const SlotOptions& options, bool on_host) {
  const std::string machine = "name their machine with --topology";
  if (!options.has_oversubscribe) return machine;
  return (on_host ? machine + ", or " : "") + "use --oversubscribe to let them share";
}

Status check_fits(const MachineChoice& choice, const MachineOptions& machine,
                  const SlotOptions& options, int ranks, const std::string& previous) {
  const int cpus = choice.usable.count(), each = std::max(1, options.cpus_per_task);
  if (ranks < 1) return Error("there are no ranks to map; give their number with --ranks");
  if (options.single_threads && previous.empty())
    if (Status good = check_lama_width(options.cpus_per_task); !good) return good;
  if (each > cpus)
    return Error(fmt::format("--cpus-per-task: {} CPUs a rank, and there {} {} in all", each,
                             cpus == 1 ? "is" : "are", cpus));
  if (options.oversubscribe || ranks <= cpus / each) return {};
  const bool host = machine.topology == "host";
  return Error(fmt::format("{} ranks of {} each do not fit on {}{}{}; {}", ranks,
                           counted(each, "CPU"), host ? "the " : "", counted(cpus, "CPU"),
                           host ? " of this machine" : "", ways_to_fit(options, host)));
}

// For lama each hardware thread is a slot; if ranks share, each is a slot equally often. The layout
// chooses among them.
SlotSet free_slots(const MachineChoice& choice, const SlotOptions& options, int ranks) {
  const int cpus = choice.usable.count(), each = std::max(1, options.cpus_per_task);
  if (options.single_threads)
    return shared_slots(choice.machine, choice.usable, (ranks + cpus - 1) / cpus * cpus, 1);
  if (ranks <= cpus / each) {
    SlotSet slots = slots_for(choice.machine, choice.usable, ranks, each);
    const bool spread = options.spread || (!options.pack && choice.machine.llcs.size() > 1);
    return spread ? spread_slots(slots, ranks) : slots;
  }
  if (options.cpus_per_task == 0) return whole_node_slots(choice.machine, choice.usable, ranks);
  return shared_slots(choice.machine, choice.usable, ranks, each);
}

// The CPUs of a present mapping are the slots, so that --cpus-per-task must not ask for more.
Status check_widths(const SlotPlan& plan, const SlotOptions& options, const std::string& previous,
                    const RankNames& names) {
  for (std::size_t rank = 0; options.cpus_per_task > 0 && rank < plan.initial.size(); ++rank) {
    const int count = plan.slots[plan.initial[rank]].pus.count();
    if (count >= options.cpus_per_task) continue;  // whole cores may be more
    return Error(fmt::format(
        "--cpus-per-task: {}, but mapping '{}' gives rank {} {}: leave the option out to use the "
        "CPUs of the mapping",
        options.cpus_per_task, name_of_input(previous), names.of(rank), counted(count, "CPU")));
  }
  return {};
}

}  // namespace

Result<Layout> plan_layout(const MachineChoice& choice, const MachineOptions& machine,
                           const SlotOptions& options, const CommMatrix& matrix,
                           const std::string& previous, const std::vector<int>& world) {
  const auto wanted = number_of_ranks(matrix, options.ranks);
  if (!wanted) return wanted.error();
  int ranks = *wanted;
  if (Status good = check_fits(choice, machine, options, ranks, previous); !good)
    return std::move(good).error();
  if (previous.empty()) {
    return Layout{
        choice.machine, free_slots(choice, options, ranks), choice.model, {}, &choice.whole, ranks};
  }
  const auto placement = read_placement(previous, choice.whole, choice.usable,
                                        ranks_to_place(matrix, options.ranks, world));
  if (!placement) return placement.error();
  ranks = static_cast<int>(placement->size());
  CpuSet used;
  for (const CpuSet& pus : *placement) used |= pus;
  SlotRequest request{*placement, std::max(1, options.cpus_per_task),
                      idle_pus(choice.machine, used, choice.usable)};
  request.bound = true;
  auto plan = plan_slots(choice.machine, request);
  if (!plan) return std::move(plan).error();
  if (plan->uneven)
    return Error(
        fmt::format("mapping '{}' gives its ranks CPUs in different numbers: "
                    "none can take another's place",
                    name_of_input(previous)));
  if (Status same = check_widths(*plan, options, previous, {world}); !same)
    return std::move(same).error();
  CostModel model = CostModel::from(plan->machine, choice.overrides);
  return Layout{std::move(plan->machine), std::move(plan->slots), std::move(model),
                std::move(plan->initial), &choice.whole,          ranks};
}

SlotSet slots_of(const Machine& machine, const RankCpus& placement) {
  SlotSet slots;
  for (const CpuSet& pus : placement) slots.push_back(make_slot(machine, pus));
  SlotRequest request{placement, 1, {}};
  request.bound = true;
  const auto plan = plan_slots(machine, request);
  if (!plan || !plan->shared) return slots;
  for (std::size_t i = 0; i < slots.size(); ++i) {
    Slot dealt = make_slot(machine, plan->slots[plan->initial[i].value].pus);
    dealt.pus = slots[i].pus;
    slots[i] = std::move(dealt);
  }
  return slots;
}

namespace {

// lama:...,bind= gives a rank more CPUs round its thread. If all ranks have the same CPUs of
// several nodes, they count as in evaluate.
SlotSet slots_of_ranks(const std::string& spec, const Layout& layout, const Mapping& mapping) {
  SlotSet slots;
  for (const SlotIndex slot : mapping) slots.push_back(layout.slots[slot]);
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

Status check_output(const std::string& input, const std::string& output) {
  if (input.empty() || output.empty() || !would_replace(input, output)) return {};
  return Error(fmt::format("'{}' is the input; write to another file", shorten_path(output)));
}

Status check_read_once(std::span<const std::string> inputs) {
  if (std::count(inputs.begin(), inputs.end(), "-") > 1)
    return Error("standard input (-) can be read only once; name a file for the other input");
  return {};
}

Status check_files(const Inputs& inputs, const MachineOptions& machine, const std::string& output) {
  if (Status once = check_read_once({inputs.begin(), inputs.size()}); !once) return once;
  for (const std::string& input : inputs) {
    if (Status good = check_output(input, output); !good) return good;
  }
  return machine.topology == "host" ? Status() : check_output(machine.topology, output);
}

std::string share_text(const std::optional<double>& share) {
  return share ? fmt::format("{:.4f}", *share) : "-";
}

}  // namespace ondeloc::cli
