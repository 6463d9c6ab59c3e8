// SPDX-License-Identifier: Apache-2.0
// Loads the topology of the host while the ranks run, so that they hardly notice.
//
// On a large node hwloc reads some ten thousand files of /sys, which takes longer than a short
// program runs. A thread does it with a higher nice value, on CPUs that no rank uses if there are
// any. The nice value is not the highest, or the mapper would hardly run on a node whose CPUs are
// all busy; an unprivileged process cannot lower it again, hence the thread.
// Thread safety: an object is for one thread; the destructor waits for the load.
#pragma once

#include <future>
#include <optional>
#include <string>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/result.h"
#include "mapcore/topology/machine.h"

namespace ondeloc {

class BackgroundLoad {
 public:
  // `cpus`: where the thread may run; empty: anywhere. Loads at once if no thread can be started.
  void start(const std::string& topology, const CpuSet& cpus);
  bool is_started() const { return load_.valid(); }
  // Empty while the topology is being loaded. REQUIRES: is_started().
  bool is_ready() const;
  // Waits for it. REQUIRES: is_started().
  Result<Machine> take() { return load_.get(); }

 private:
  std::future<Result<Machine>> load_;
};

}  // namespace ondeloc
