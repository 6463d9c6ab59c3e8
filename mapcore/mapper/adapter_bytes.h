// SPDX-License-Identifier: Apache-2.0
// Tells which network adapters carried the bytes that left the node, and from how far. Thread
// safety: pure functions.
#pragma once

#include <span>
#include <vector>

#include "mapcore/devices/device.h"
#include "mapcore/mapper/rank_list.h"
#include "mapcore/report/report.h"

namespace ondeloc {

// For each adapter that a rank with off-node bytes surely sends through: the adapter that nic= has
// chosen for the rank, or the only active adapter of the node's fastest kind. `near`: bytes of
// ranks whose last CPUs are near the adapter. Ranks with several adapters, and adapters whose place
// is not known, are left out. REQUIRES: report.ranks and report.off_node are filled.
std::vector<ReportAdapter> bytes_by_adapter(std::span<const Device> devices, const Report& report);

// The world ranks whose bytes are `far_bytes` of an adapter. REQUIRES: as above.
RankList ranks_far_from_adapters(std::span<const Device> devices, const Report& report);

}  // namespace ondeloc
