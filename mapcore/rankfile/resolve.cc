// SPDX-License-Identifier: Apache-2.0
#include "mapcore/rankfile/resolve.h"

#include <fmt/format.h>

#include <algorithm>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

struct Object {
  int package = -1;  // hwloc logical index of its package
  CpuSet pus;
};

// Returns the objects of a level in logical order, each with its PUs in `counted`. Objects without
// such a PU are left out.
std::vector<Object> objects_of(const Machine& machine, Level level, const CpuSet& counted) {
  std::vector<Object> objects;
  int last = -1;
  for (const Pu& pu : machine.pus) {
    if (!counted.test(pu.os) || pu.at(level) < 0) continue;
    if (objects.empty() || pu.at(level) != last) objects.push_back({pu.at(Level::kPackage), {}});
    last = pu.at(level);
    objects.back().pus.set(pu.os);
  }
  return objects;
}

struct Places {
  std::vector<Object> packages;
  std::vector<Object> cores;
  std::vector<int> package_ids;  // logical index of each counted package
};

Places places_of(const Machine& machine, const CpuSet& counted) {
  Places places{objects_of(machine, Level::kPackage, counted),
                objects_of(machine, Level::kCore, counted),
                {}};
  if (places.cores.empty()) places.cores = objects_of(machine, Level::kPu, counted);
  for (const Object& package : places.packages) places.package_ids.push_back(package.package);
  return places;
}

Error no_such(const char* what, int index, std::size_t count, bool relative) {
  return Error(fmt::format("{} {} does not exist: {} has {} of them, counted from 0", what, index,
                           relative ? "the step" : "the machine", count));
}

Status add_objects(const std::vector<Object>& objects, const std::vector<IndexRange>& ranges,
                   const char* what, bool relative, CpuSet& out) {
  for (const IndexRange& range : ranges) {
    for (int index = range.first; index <= range.last; ++index) {
      if (static_cast<std::size_t>(index) >= objects.size())
        return no_such(what, index, objects.size(), relative);
      out |= objects[static_cast<std::size_t>(index)].pus;
    }
  }
  return {};
}

Status add_item(const SlotItem& item, const Places& places, bool relative, CpuSet& out) {
  if (item.whole_package)
    return add_objects(places.packages, item.ranges, "package", relative, out);
  if (item.package < 0) return add_objects(places.cores, item.ranges, "core", relative, out);
  if (static_cast<std::size_t>(item.package) >= places.packages.size()) {
    return no_such("package", item.package, places.packages.size(), relative);
  }
  if (item.ranges.empty()) {
    out |= places.packages[static_cast<std::size_t>(item.package)].pus;
    return {};
  }
  std::vector<Object> inside;
  const int package = places.package_ids[static_cast<std::size_t>(item.package)];
  std::copy_if(places.cores.begin(), places.cores.end(), std::back_inserter(inside),
               [&](const Object& core) { return core.package == package; });
  return add_objects(inside, item.ranges, fmt::format("package {}: core", item.package).c_str(),
                     relative, out);
}

std::string_view short_name(std::string_view host) { return host.substr(0, host.find('.')); }

// `owner`: "line 1: rank 0", for errors.
Result<CpuSet> resolve(const std::vector<SlotItem>& slots, const Places& places,
                       const CpuSet& usable, bool relative, const std::string& owner) {
  CpuSet pus;
  for (const SlotItem& item : slots)
    if (Status added = add_item(item, places, relative, pus); !added)
      return std::move(added).error().within(owner);
  // A hardware thread outside the step is left out; a whole core outside the step is an error.
  CpuSet outside;
  for (const Object& core : places.cores)
    if (core.pus.intersects(pus) && !core.pus.intersects(usable)) outside |= core.pus;
  if (!outside.empty()) {
    return Error(fmt::format("{} would run on CPUs {}, outside the step's CPUs {}", owner,
                             outside.to_list(), usable.empty() ? "(none)" : usable.to_list()));
  }
  return pus & usable;
}

}  // namespace

Result<CpuSet> resolve_slots(const RankfileEntry& entry, const Machine& machine,
                             const CpuSet& usable, bool relative) {
  return resolve(entry.slots, places_of(machine, relative ? usable : machine.all_pus()), usable,
                 relative, fmt::format("line {}: rank {}", entry.line, entry.rank.value));
}

Result<std::vector<CpuSet>> resolve_threads(const RankfileEntry& entry, const Machine& machine,
                                            const CpuSet& usable, bool relative,
                                            const CpuSet& of_rank) {
  std::vector<CpuSet> all;
  if (entry.threads.empty()) return all;
  const Places places = places_of(machine, relative ? usable : machine.all_pus());
  all.resize(static_cast<std::size_t>(entry.threads.rbegin()->first) + 1);
  for (const auto& [thread, its] : entry.threads) {
    const std::string owner =
        fmt::format("line {}: rank {} thread {}", its.line, entry.rank.value, thread);
    auto pus = resolve(its.slots, places, usable, relative, owner);
    if (!pus) return std::move(pus).error();
    if (!pus->is_subset_of(of_rank)) {
      return Error(fmt::format(
          "{} would run on CPUs {}, outside the CPUs {} of its rank; name its cores in line {} too",
          owner, pus->to_list(), of_rank.to_list(), entry.line));
    }
    all[static_cast<std::size_t>(thread)] = *std::move(pus);
  }
  return all;
}

std::string host_of(const RankfileEntry& entry) {
  return entry.node >= 0 ? fmt::format("+n{}", entry.node) : entry.host;
}

bool is_on_node(const RankfileEntry& entry, std::string_view node_name, int node_index) {
  if (entry.node >= 0) return entry.node == node_index;
  if (entry.host == "localhost" || entry.host == node_name) return true;
  const bool both_long =
      entry.host.find('.') != std::string::npos && node_name.find('.') != node_name.npos;
  return !both_long && short_name(entry.host) == short_name(node_name);
}

}  // namespace ondeloc
