// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/mapping_io.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

#include "mapcore/base/json_text.h"
#include "mapcore/base/quantity.h"
#include "mapcore/base/read_file.h"
#include "mapcore/base/text.h"
#include "mapcore/rankfile/rankfile.h"
#include "mapcore/rankfile/resolve.h"

namespace ondeloc {

using Json = nlohmann::ordered_json;

RankCpus placement_of(const SlotSet& slots, const Mapping& mapping) {
  RankCpus placement;
  for (const SlotIndex slot : mapping) placement.push_back(slots[slot.value].pus);
  return placement;
}

namespace {

// Returns the whole number in the document if it is in [0, limit), else nothing.
std::optional<int> index_in(const Json& value, int limit) {
  if (!value.is_number_unsigned() && !value.is_number_integer()) return std::nullopt;
  const auto number = value.get<std::int64_t>();
  if (number < 0 || number >= limit) return std::nullopt;
  return static_cast<int>(number);
}

Status add_rank(const Json& entry, WorldCpus& placement) {
  if (!entry.is_object() || !entry.contains("rank") || !entry.contains("pus"))
    return Error(R"(an entry of "ranks" needs "rank" and "pus")");
  const auto rank = index_in(entry["rank"], kMaxWorldRank + 1);
  if (!rank) return Error(fmt::format("rank {} is out of range", shorten(entry["rank"].dump())));
  if (placement.contains(*rank)) return Error(fmt::format("rank {} appears twice", *rank));
  if (!entry["pus"].is_array() || entry["pus"].empty())
    return Error(fmt::format("rank {}: \"pus\" is not a list of CPU numbers", *rank));
  CpuSet pus;
  for (const Json& pu : entry["pus"]) {
    const auto os = index_in(pu, CpuSet::kMaxCpu);
    if (!os) {
      return Error(fmt::format("rank {}: '{}' is not a CPU number", *rank, shorten(pu.dump())));
    }
    pus.set(PuOs(*os));
  }
  return place_rank(placement, *rank, std::move(pus));
}

}  // namespace

Status place_rank(WorldCpus& placement, int rank, CpuSet pus) {
  placement[rank] = std::move(pus);
  if (placement.size() <= kMostPlacedRanks) return {};
  return Error(fmt::format("the file places more than {} ranks; a mapping is of one node",
                           kMostPlacedRanks));
}

Result<WorldCpus> parse_mapping_json(std::string_view text, std::string_view name) {
  if (is_json_too_deep(text))
    return Error(fmt::format(
        "mapping '{}': brackets nest deeper than {}; ondeloc never writes such a mapping", name,
        kMaxJsonDepth));
  const Json document = Json::parse(text, nullptr, false);
  if (document.is_discarded()) return Error(fmt::format("mapping '{}': not valid JSON", name));
  if (!document.is_object() || !document.contains("ranks") || !document["ranks"].is_array())
    return Error(fmt::format("mapping '{}': the document has no list \"ranks\"", name));
  WorldCpus placement;
  for (const Json& entry : document["ranks"]) {
    if (Status added = add_rank(entry, placement); !added)
      return std::move(added).error().within(fmt::format("mapping '{}'", name));
  }
  return placement;
}

namespace {

Status check_one_node(const Rankfile& file) {
  for (const auto& [rank, entry] : file.entries) {
    const RankfileEntry& first = file.entries.begin()->second;
    if (host_of(entry) == host_of(first)) continue;
    return Error(
        fmt::format("the file names the nodes '{}' and '{}' (line {}); a mapping is of one node",
                    shorten(host_of(first)), shorten(host_of(entry)), entry.line));
  }
  return {};
}

// Hints that the mapping may be of another machine, unless the user has named CPUs of the host.
std::string hint_at_topology(const Machine& machine, const CpuSet& usable) {
  if (machine.source != "host" || !(usable == machine.allowed)) return "";
  return " (on this machine; name the machine of the ranks with --topology)";
}

Result<WorldCpus> placement_of_threads(const Rankfile& file, const std::string& name,
                                       const Machine& machine, const CpuSet& usable) {
  const RankfileEntry& entry = file.entries.begin()->second;
  const auto pus = resolve_slots(entry, machine, usable, file.relative);
  auto threads = pus ? resolve_threads(entry, machine, usable, file.relative, *pus)
                     : Result<RankCpus>(pus.error());
  if (!threads)
    return Error(fmt::format("rankfile '{}': {}{}", name, threads.error().message(),
                             hint_at_topology(machine, usable)));
  WorldCpus placement;
  for (CpuSet& thread : *threads)
    placement[static_cast<int>(placement.size())] = thread.empty() ? *pus : std::move(thread);
  return placement;
}

}  // namespace

Result<WorldCpus> parse_rankfile_placement(std::string_view text, const std::string& name,
                                           const Machine& machine, const CpuSet& usable) {
  const auto file = parse_rankfile(text, name);
  if (!file) return file.error();
  if (Status one = check_one_node(*file); !one)
    return std::move(one).error().within(fmt::format("rankfile '{}'", name));
  if (file->entries.size() == 1 && !file->entries.begin()->second.threads.empty())
    return placement_of_threads(*file, name, machine, usable);
  WorldCpus placement;
  for (const auto& [rank, entry] : file->entries) {
    auto pus = resolve_slots(entry, machine, usable, file->relative);
    if (!pus)
      return Error(fmt::format("rankfile '{}': {}{}", name, pus.error().message(),
                               hint_at_topology(machine, usable)));
    if (Status placed = place_rank(placement, rank.value, *std::move(pus)); !placed)
      return std::move(placed).error().within(
          fmt::format("rankfile '{}': line {}", name, entry.line));
  }
  return placement;
}

Status check_placement(const WorldCpus& placement, const Machine& machine, const CpuSet& usable,
                       PlacedRanks ranks) {
  const int last = placement.empty() ? -1 : placement.rbegin()->first;
  if (ranks.may_be_more) ranks.count = std::max(ranks.count, last + 1);
  if (last >= ranks.count) {
    return Error(fmt::format("the file places rank {}, but there are {} ranks (0 to {})", last,
                             ranks.count, ranks.count - 1));
  }
  for (int rank = 0; rank < ranks.count; ++rank) {
    const auto at = placement.find(rank);
    const bool placed = at != placement.end() && !at->second.empty();
    if (!placed && ranks.needs(rank))
      return Error(fmt::format("the file does not place rank {}", rank));
    if (!placed) continue;
    if (!at->second.is_subset_of(usable)) {
      return Error(fmt::format("rank {} is on CPUs {}, outside {}{}", rank,
                               shorten(at->second.to_list()), shorten(usable.to_list()),
                               hint_at_topology(machine, usable)));
    }
  }
  return {};
}

std::string numa_name(int os) { return os < 0 ? "none" : std::to_string(os); }

namespace {

int numa_os(const Machine& machine, const CpuSet& pus) {
  return machine.nodes[make_slot(machine, pus).node.value].os;
}

}  // namespace

std::string to_json(const Machine& machine, const RankCpus& placement, const MappingReport& report,
                    const RankNames& names) {
  Json ranks = Json::array();
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    Json pus = Json::array();
    for (const PuOs pu : placement[rank].to_vector()) pus.push_back(pu.value);
    ranks.push_back(
        {{"rank", names.of(rank)}, {"numa", numa_os(machine, placement[rank])}, {"pus", pus}});
  }
  const Cost& cost = report.cost;
  Json document = {{"algorithm", report.algorithm}};
  if (!names.world.empty()) document["node"] = names.host;
  document["ranks"] = ranks;
  document["cost"] = {{"total", cost.total},         {"congestion", cost.congestion},
                      {"locality", cost.locality},   {"remote_share", nullptr},
                      {"peak_load", cost.peak_load}, {"migrations", report.migrations}};
  document["seconds"] = report.seconds;
  if (cost.remote_share) document["cost"]["remote_share"] = *cost.remote_share;
  if (cost.busiest_rank >= 0) document["cost"]["busiest"] = cost.busiest;
  if (cost.far_share) document["cost"]["far_share"] = *cost.far_share;
  return json_text(document);
}

std::string to_table(const Machine& machine, const RankCpus& placement, const MappingReport& report,
                     const RankNames& names) {
  std::string text = fmt::format("rank  NUMA node  CPUs\n");
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    text += fmt::format("{:>4}  {:>9}  {}\n", names.of(rank),
                        numa_name(numa_os(machine, placement[rank])), placement[rank].to_list());
  }
  text += fmt::format("\nalgorithm {}, computed in {}\npredicted cost {} ({})\n", report.algorithm,
                      seconds_text(report.seconds), seconds_text(report.cost.total),
                      terms_text(report.cost));
  text += fmt::format("remote share {}, peak load {:.3f}, migrations {}\n",
                      report.cost.remote_share ? fmt::format("{:.4f}", *report.cost.remote_share)
                                               : std::string("-"),
                      report.cost.peak_load, report.migrations);
  if (report.cost.far_share)
    text += fmt::format(
        "far share {:.4f} of the bytes to other nodes: sent from another NUMA node "
        "than that of the rank's adapter\n",
        *report.cost.far_share);
  return text;
}

namespace {

struct Core {
  int number = 0;  // counted over the machine in logical order, as mpirun does
  CpuSet pus;
};

// Returns the cores in logical order, or single PUs if the machine has no cores.
std::vector<Core> cores_of(const Machine& machine) {
  std::vector<Core> cores;
  const bool has_cores = !machine.pus.empty() && machine.pus.front().at(Level::kCore) >= 0;
  int last = -1;
  for (const Pu& pu : machine.pus) {
    const int object = has_cores ? pu.at(Level::kCore) : pu.logical.value;
    if (cores.empty() || object != last) cores.push_back({static_cast<int>(cores.size()), {}});
    last = object;
    cores.back().pus.set(pu.os);
  }
  return cores;
}

// `most`: characters of the list; 0: any number.
Result<std::string> core_list(const std::vector<Core>& cores, const CpuSet& usable,
                              const CpuSet& pus, std::size_t most) {
  CpuSet numbers, covered;
  for (const Core& core : cores) {
    if (!core.pus.intersects(pus)) continue;
    numbers.set(PuOs(core.number));
    covered |= core.pus & usable;
  }
  if (!(covered == pus)) {
    return Error(
        fmt::format("CPUs {} are not whole cores, and a rankfile cannot name hardware "
                    "threads: use --format cpu-bind or json",
                    shorten(pus.to_list())));
  }
  std::string list = numbers.to_list();
  if (most > 0 && list.size() > most)
    return Error(
        fmt::format("the core list is longer than the {} characters that mpirun keeps: "
                    "use --format cpu-bind or json",
                    most));
  return list;
}

constexpr std::size_t kMostOfMpirun = 63;

Result<std::string> lines_of_threads(const std::vector<Core>& cores, const CpuSet& usable,
                                     const RankCpus& placement, const RankNames& names) {
  CpuSet all;
  for (const CpuSet& thread : placement) all |= thread;
  auto list = core_list(cores, usable, all, 0);
  if (!list) return std::move(list).error().within("rankfile");
  std::string text = fmt::format("rank {}={} slot={}\n", *names.threads_of, names.host, *list);
  for (std::size_t thread = 0; thread < placement.size(); ++thread) {
    auto own = core_list(cores, usable, placement[thread], 0);
    if (!own) return std::move(own).error().within(fmt::format("rankfile: thread {}", thread));
    text += fmt::format("rank {} thread {} slot={}\n", *names.threads_of, thread, *own);
  }
  return text;
}

}  // namespace

Result<std::string> to_rankfile(const Machine& machine, const CpuSet& usable,
                                const RankCpus& placement, const RankNames& names, bool relative) {
  const std::vector<Core> cores = cores_of(machine);
  std::string text = relative ? fmt::format("{}\n", kRelativeMark) : "";
  if (names.threads_of) {
    auto lines = lines_of_threads(cores, usable, placement, names);
    return lines ? text + *lines : lines;
  }
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    auto list = core_list(cores, usable, placement[rank], kMostOfMpirun);
    if (!list)
      return std::move(list).error().within(fmt::format("rankfile: rank {}", names.of(rank)));
    text += fmt::format("rank {}={} slot={}\n", names.of(rank), names.host, *list);
  }
  return text;
}

namespace {

std::string hex_mask(const CpuSet& pus) {
  const auto words = pus.words();
  std::string mask = "0x";
  for (std::size_t w = words.size(); w-- > 0;)
    mask +=
        w + 1 == words.size() ? fmt::format("{:x}", words[w]) : fmt::format("{:016x}", words[w]);
  return mask;
}

}  // namespace

std::string to_cpu_bind(const RankCpus& placement) {
  const bool single = std::all_of(placement.begin(), placement.end(),
                                  [](const CpuSet& pus) { return pus.count() == 1; });
  std::string text = single ? "map_cpu:" : "mask_cpu:";
  for (std::size_t rank = 0; rank < placement.size(); ++rank) {
    if (rank > 0) text += ',';
    text += single ? std::to_string(placement[rank].first()) : hex_mask(placement[rank]);
  }
  return text + "\n";
}

}  // namespace ondeloc
