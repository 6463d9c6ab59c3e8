// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/gpu_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "mapcore/devices/process_environment.h"
#include "mapcore/devices/rank_adapter.h"
#include "mapcore/devices/sysfs.h"
#include "mapcore/mapper/rank_list.h"

namespace ondeloc {
namespace {

// A driver counts memory without a file being opened: looks between two full looks.
constexpr unsigned kFullLookEvery = 8;

// The kernel's name of the initial pid namespace (PROC_PID_INIT_INO).
constexpr std::string_view kInitialPids = "pid:[4026531836]";

}  // namespace

GpuWatch::GpuWatch(std::vector<Device> devices, std::string root, std::string nvml)
    : devices_(std::move(devices)),
      root_(std::move(root)),
      nvml_(std::make_unique<Nvml>(std::move(nvml))) {}

bool GpuWatch::has_gpus() const {
  return std::any_of(devices_.begin(), devices_.end(),
                     [](const Device& device) { return is_gpu(device.kind); });
}

bool GpuWatch::is_changed(const OfRank& rank, std::size_t files) const {
  return !rank.looked || files != rank.files || looks_ % kFullLookEvery == 0;
}

// A kernel before 6.2 does not tell the number of files: it counts as changed.
bool GpuWatch::is_due(const OfRank& rank, std::size_t files) const {
  if (!rank.looked) return true;
  return has_gpus() && (files == 0 || is_changed(rank, files));
}

// Asks at most once in a look. The driver tells pids of the initial namespace: a mapper in another
// one would take a stranger's process for a rank.
const NvidiaProcesses* GpuWatch::ask_nvidia(bool anew) {
  if (!anew || nvidia_asked_ == looks_) return nvidia_;
  nvidia_asked_ = looks_;
  const bool same_pids = Sysfs(root_).link("/proc/self/ns/pid") == kInitialPids;
  nvidia_ = same_pids ? nvml_->processes() : nullptr;
  return nvidia_;
}

bool GpuWatch::look(const Ranks& ranks) {
  ++looks_;
  if (ranks_.size() == 0) ranks_ = decltype(ranks_)(ranks.all().size());
  bool changed = false;
  for (const LocalRank rank : ranks.ids()) {
    const RankState& state = ranks.at(rank);
    if (!state.movable()) continue;
    OfRank& known = ranks_[rank];
    const std::size_t files = has_gpus() ? open_files_of(state.process, root_) : 0;
    if (!is_due(known, files)) continue;
    const auto environment = environment_of(state.process, root_);
    if (!known.looked) known.nic = nic_of(environment, devices_);
    newcomers_ = newcomers_ || !known.looked;
    const bool anew = is_changed(known, files);
    known.files = files;
    known.looked = true;
    GpuUse use = gpus_of_process(state.process, environment, devices_, root_,
                                 [this, anew] { return ask_nvidia(anew); });
    // A rank that ends closes its files first.
    if (!use.any() || use == known.use) continue;
    known.near = near_gpus(use, devices_);
    known.use = std::move(use);
    changed = true;
  }
  return changed;
}

AllowedCpus GpuWatch::allowed(const SlotPlan& plan, const Mapping& current) const {
  AllowedCpus allowed;
  if (std::none_of(ranks_.begin(), ranks_.end(), [](const OfRank& rank) { return rank.use.any(); }))
    return allowed;
  for (const LocalRank rank : current.ids()) {
    const Slot& slot = plan.slots[current[rank]];
    const CpuSet& node = plan.machine.nodes[slot.node].pus;
    CpuSet cpus;
    if (ranks_[rank].use.any())
      cpus = !ranks_[rank].near.empty()    ? ranks_[rank].near
             : slot.pus.is_subset_of(node) ? node
                                           : slot.pus;
    allowed.push_back(std::move(cpus));
  }
  return allowed;
}

bool GpuWatch::has_unknown() const {
  return std::any_of(ranks_.begin(), ranks_.end(),
                     [](const OfRank& rank) { return rank.use.any() && rank.near.empty(); });
}

std::vector<std::optional<std::size_t>> GpuWatch::adapters() const {
  std::vector<std::optional<std::size_t>> adapters(ranks_.size());
  bool any = false;
  for (const LocalRank rank : ranks_.ids()) {
    const std::vector<std::size_t> used = adapters_of_rank(ranks_[rank].nic, devices_);
    if (used.size() != 1) continue;
    adapters[static_cast<std::size_t>(rank.value)] = used.front();
    any = true;
  }
  if (!any) adapters.clear();
  return adapters;
}

std::string GpuWatch::names_of(const GpuUse& use) const {
  std::string names;
  for (const std::size_t gpu : use.gpus) names += (names.empty() ? "" : ",") + devices_[gpu].name;
  return names;
}

void GpuWatch::fill(LocalRank rank, ReportRank& line) const {
  if (static_cast<std::size_t>(rank.value) >= ranks_.size()) return;
  const OfRank& of = ranks_[rank];
  for (const std::size_t gpu : of.use.gpus) line.gpus.push_back(devices_[gpu].name);
  line.gpu_source = of.use.source;
  line.nic = of.nic;
  if (of.near.empty()) return;
  const auto is_near = [&](const std::string& cpus) {
    const auto set = CpuSet::parse_list(cpus);
    return set && !set->empty() && set->is_subset_of(of.near);
  };
  line.gpus_near_at_start = is_near(line.start_cpus);
  line.gpus_near_at_end = is_near(line.final_cpus);
}

std::vector<std::string> GpuWatch::notes(const Ranks& ranks) const {
  RankList near, unknown;
  for (const LocalRank rank : ranks_.ids()) {
    if (!ranks_[rank].use.any()) continue;
    (ranks_[rank].near.empty() ? unknown : near).add(ranks.at(rank).world);
  }
  std::vector<std::string> notes;
  if (!near.empty())
    notes.push_back(
        fmt::format("GPUs: {} may be bound to CPUs near their GPUs only", near.to_words()));
  if (!unknown.empty())
    notes.push_back(
        fmt::format("GPUs: {} may not leave the NUMA node: ondeloc does not know which GPU each "
                    "uses, or where that GPU is",
                    unknown.to_words()));
  return notes;
}

}  // namespace ondeloc
