// SPDX-License-Identifier: Apache-2.0
// The traffic of a run by the level of the machine at which two ranks meet, for people. The summary
// of a step, `ondeloc report`, `ondeloc compare` and `ondeloc map` use the same words. Thread
// safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mapcore/map/cost.h"

namespace ondeloc {

// The traffic of the same ranks under two mappings.
struct TrafficChange {
  DomainTraffic before, after;
};

// "same LLC", "across packages": how close two ranks with this common domain are.
const char* level_name(Domain domain);
const char* short_level_name(Domain domain);  // at most 9 characters

// "bytes: same LLC 3 -> 80 %, across packages 97 -> 20 %", and the messages in a second line if
// their shares differ. Empty without traffic.
std::vector<std::string> level_lines(const TrafficChange& change);

// A table with bytes and messages of each level. Empty without traffic.
std::string level_table(const TrafficChange& change);

// The share of the bytes between NUMA nodes; empty without traffic.
std::optional<double> share_between_nodes(const DomainTraffic& traffic);

// The domains with traffic, nearest first.
std::vector<Domain> used_domains(const TrafficChange& change);

}  // namespace ondeloc
