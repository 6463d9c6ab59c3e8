// SPDX-License-Identifier: Apache-2.0
// From the name of a topology to an hwloc topology, and hwloc's sets as ours. Only the files of
// this folder include this. Thread safety: as hwloc.
#pragma once

#include <hwloc.h>

#include <memory>
#include <string>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/result.h"

namespace ondeloc {

struct TopologyDeleter {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, TopologyDeleter>;

// `source` and errors as in load.h.
Result<Topology> open_topology(const std::string& source);

CpuSet to_cpu_set(hwloc_const_bitmap_t bitmap);

}  // namespace ondeloc
