// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/bind_static.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "mapcore/base/text.h"
#include "mapcore/binding/affinity.h"
#include "mapcore/binding/binder.h"
#include "mapcore/binding/cgroup.h"
#include "mapcore/mapper/bind_lama.h"
#include "mapcore/mapper/bind_warning.h"
#include "mapcore/rankfile/rankfile.h"
#include "mapcore/rankfile/resolve.h"
#include "mapcore/topology/load.h"

namespace ondeloc {
namespace {

// The CPUs of all tasks of the step on this node, empty if Slurm has not listed them.
CpuSet listed_cpus(const BindArguments& call) {
  if (!call.cpu_bind_type.starts_with("mask_cpu")) return {};
  auto cpus = CpuSet::parse_mask_list(call.cpu_bind_list);
  return cpus ? *std::move(cpus) : CpuSet();
}

// The CPUs that the step may use on this node: the kernel's cpuset, and only those of them that
// Slurm has listed, if it has listed any.
CpuSet usable_cpus(const BindArguments& call, const Machine& machine) {
  CpuSet usable = machine.allowed;
  if (const auto step = read_step_cpuset(call.pid)) usable &= step->cpus;
  const CpuSet listed = listed_cpus(call);
  if (!listed.empty()) usable &= listed;
  return usable;
}

std::string name_of(const BindArguments& call) {
  if (is_layout(call.file)) return fmt::format("layout '{}'", call.file);
  return fmt::format("rankfile '{}'", shorten_path(call.file));
}

Status check_ranks(const Rankfile& file, const BindArguments& call) {
  const std::string name = name_of(call);
  for (const auto& [rank, entry] : file.entries) {
    if (rank.value >= call.ranks) {
      return Error(
          fmt::format("{}: line {}: rank {} does not exist: the step has {}, counted from 0", name,
                      entry.line, rank.value, counted(call.ranks, "rank")));
    }
  }
  for (int rank = 0; rank < call.ranks; ++rank) {
    if (!file.entries.contains(WorldRank(rank))) {
      return Error(
          fmt::format("{}: rank {} is missing: every rank of the step needs a line", name, rank));
    }
  }
  return {};
}

Result<Rankfile> read_checked(const BindArguments& call) {
  auto file = read_rankfile(call.file);
  if (!file) return file;
  if (Status good = check_ranks(*file, call); !good) return std::move(good).error();
  return file;
}

struct RankPlaces {
  CpuSet cpus;
  std::vector<CpuSet> threads = {};
};

Result<RankPlaces> places_in_file(const Rankfile& file, const BindArguments& call,
                                  const Machine& machine) {
  const std::string name = name_of(call);
  const RankfileEntry& entry = file.entries.at(WorldRank(call.rank));
  if (!is_on_node(entry, call.node, call.node_index)) {
    return Error(fmt::format("{}: line {}: rank {} is on host '{}', but Slurm started it on '{}'",
                             name, entry.line, call.rank, shorten(host_of(entry)), call.node));
  }
  const bool relative = call.relative || file.relative;
  const CpuSet usable = usable_cpus(call, machine);
  auto pus = resolve_slots(entry, machine, usable, relative);
  if (!pus) return std::move(pus).error().within(name);
  auto threads = resolve_threads(entry, machine, usable, relative, *pus);
  if (!threads) return std::move(threads).error().within(name);
  return RankPlaces{*std::move(pus), *std::move(threads)};
}

Result<RankPlaces> places_by_layout(const BindArguments& call, const Machine& machine) {
  auto pus = cpus_by_lama(call, machine, usable_cpus(call, machine));
  if (!pus) return std::move(pus).error().within(name_of(call));
  return RankPlaces{*std::move(pus)};
}

std::string warning_of_width(const CpuSet& pus, const BindArguments& call) {
  const int count = pus.count();
  if (static_cast<std::uint32_t>(count) >= call.cpus_per_task) return "";
  return fmt::format(
      "{}: rank {} gets {}, but the step has {} for each rank; name more CPUs in the {} or use a "
      "smaller srun -c",
      name_of(call), call.rank, counted(count, "CPU"), call.cpus_per_task,
      is_layout(call.file) ? "layout" : "file");
}

// CPUs of the step on this node that the file gives to no rank.
CpuSet unused_by(const Rankfile& file, const BindArguments& call, const Machine& machine,
                 CpuSet usable) {
  const CpuSet all = usable;
  for (const auto& [rank, entry] : file.entries) {
    if (!is_on_node(entry, call.node, call.node_index)) continue;
    const auto pus = resolve_slots(entry, machine, all, call.relative || file.relative);
    if (!pus) return {};
    usable = usable - *pus;
  }
  return usable;
}

// A file mostly repeats its slots on each node. The first of these nodes tells the user.
bool is_repeated(const Rankfile& file, const BindArguments& call) {
  const RankfileEntry& own = file.entries.at(WorldRank(call.rank));
  for (const auto& [rank, entry] : file.entries) {
    if (rank.value >= call.rank) break;
    if (entry.slots == own.slots && !is_on_node(entry, call.node, call.node_index)) return true;
  }
  return false;
}

std::string warning_of_place(const std::optional<Rankfile>& file, const CpuSet& pus,
                             const BindArguments& call, const Machine& machine) {
  const CpuSet usable = usable_cpus(call, machine);
  const std::string warning = warning_of_devices(
      call, machine, {pus, usable, file ? unused_by(*file, call, machine, usable) : CpuSet()});
  return warning.empty() ? "" : name_of(call) + ": " + warning;
}

std::string warning_of(const std::optional<Rankfile>& file, const CpuSet& pus,
                       const BindArguments& call, const Machine& machine) {
  if (file ? is_repeated(*file, call) : call.node_index > 0) return "";
  std::string warning = warning_of_width(pus, call);
  return warning.empty() ? warning_of_place(file, pus, call, machine) : warning;
}

}  // namespace

StaticOutcome bind_static(const BindArguments& call) {
  std::optional<Rankfile> file;
  if (!is_layout(call.file)) {
    auto read = read_checked(call);
    if (!read) return {Fault::kUser, read.error().message()};
    file = *std::move(read);
  }
  auto machine = load_machine(call.topology);
  if (!machine) return {Fault::kInternal, machine.error().message()};
  auto places = file ? places_in_file(*file, call, *machine) : places_by_layout(call, *machine);
  if (!places) return {Fault::kUser, places.error().message()};
  if (Status bound = set_affinity(call.pid, places->cpus); !bound) {
    return {Fault::kInternal, fmt::format("{}: rank {}: CPUs {}: {}", name_of(call), call.rank,
                                          places->cpus.to_list(), bound.error().message())};
  }
  std::string warning = warning_of(file, places->cpus, call, *machine);
  return {Fault::kNone, std::move(warning), std::move(places->cpus), std::move(places->threads)};
}

}  // namespace ondeloc
