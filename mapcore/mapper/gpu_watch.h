// SPDX-License-Identifier: Apache-2.0
// Follows which GPUs the ranks use, so that no rank is moved away from its GPU, and reads once what
// nic= has set for each rank.
//
// A rank whose GPUs are known and near the same CPUs may be bound to those CPUs only. A rank that
// uses a GPU which is not known, or whose locality is not known, or GPUs of several NUMA nodes,
// stays on the NUMA node where it is. Thread safety: for one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mapcore/devices/gpu_use.h"
#include "mapcore/map/allowed.h"
#include "mapcore/map/slots.h"
#include "mapcore/mapper/nvml.h"
#include "mapcore/report/report.h"
#include "mapcore/step/ranks.h"

namespace ondeloc {

class GpuWatch {
 public:
  // `devices` and `root` as for gpus_of_process(), `nvml` as for Nvml.
  explicit GpuWatch(std::vector<Device> devices, std::string root = "",
                    std::string nvml = kNvmlLibrary);

  // Looks at the files of each rank whose number of open files has changed, and now and then at all
  // ranks. On a node without GPUs it looks once, at what Slurm gave the ranks. True if the GPUs of
  // some rank are others than before.
  bool look(const Ranks& ranks);
  // The CPUs that the ranks may be bound to now. Empty if no rank uses a GPU.
  AllowedCpus allowed(const SlotPlan& plan, const Mapping& current) const;
  // True if some rank uses a GPU and the CPUs near it are not known.
  bool has_unknown() const;
  // The network adapter that each rank surely sends through (devices/rank_adapter.h), as
  // fixed_adapters() takes it. Empty if no rank has one. REQUIRES: look() was called.
  std::vector<std::optional<std::size_t>> adapters() const;
  // True if look() saw a rank for the first time since the last call: adapters() may differ.
  bool take_newcomers() { return std::exchange(newcomers_, false); }
  const GpuUse& use_of(LocalRank rank) const { return ranks_[rank].use; }
  // Fills what the report says about a rank's GPUs. REQUIRES: its CPUs are filled.
  void fill(LocalRank rank, ReportRank& line) const;
  // A sentence for each way in which ranks are constrained.
  std::vector<std::string> notes(const Ranks& ranks) const;

 private:
  struct OfRank {
    GpuUse use;
    CpuSet near;      // empty: unknown
    std::string nic;  // ONDELOC_NIC
    std::size_t files = 0;
    bool looked = false;
  };
  bool has_gpus() const;
  bool is_due(const OfRank& rank, std::size_t files) const;
  std::string names_of(const GpuUse& use) const;
  bool is_changed(const OfRank& rank, std::size_t files) const;
  const NvidiaProcesses* ask_nvidia(bool anew);

  std::vector<Device> devices_;
  std::string root_;
  IndexedVector<LocalRank, OfRank> ranks_;
  unsigned looks_ = 0;
  bool newcomers_ = false;
  std::unique_ptr<Nvml> nvml_;
  const NvidiaProcesses* nvidia_ = nullptr;  // the last answer
  unsigned nvidia_asked_ = 0;                // number of the look in which it was asked
};

}  // namespace ondeloc
