// SPDX-License-Identifier: Apache-2.0
// One reading of the node's energy, by slurmstepd as root from the kernel's powercap zones.
// spank/energy_meter.h sums readings. Counters: microjoules that wrap at max_energy_range_uj.
// Source of the format: Documentation/power/powercap/powercap.rst of Linux.
//
// Only the kernel's fixed names are opened (intel-rapl:N and intel-rapl:N:M; AMD's zones have these
// names too). Reads do not allocate, follow no name of a user, and are bounded. The zones are open
// to root alone, because a fast series of readings shows what other programs compute
// (CVE-2020-8694). So a step gets one sum, and no process of the user gets a descriptor. Thread
// safety: no state. Errors: in the result.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "mapcore/options/options.h"
#include "mapcore/segment/event_record.h"

namespace ondeloc {

inline constexpr const char* kPowercap = "/sys/class/powercap";
inline constexpr int kMostPackages = 16, kMostSubzones = 4;

enum class EnergyKind : std::uint8_t { kNone, kPackage, kDram };

struct EnergyZone {
  EnergyKind kind = EnergyKind::kNone;  // kNone: no such zone, or another kind (core, psys)
  int fault = 0;                        // errno if the counter cannot be read
  std::uint64_t microjoules = 0;
  std::uint64_t range = 0;       // the counter wraps after this value; 0: unknown
  std::uint64_t microwatts = 0;  // no longer average of the zone's power is higher; 0: unknown
};

struct EnergyReading {
  std::uint64_t at_ns = 0;  // CLOCK_MONOTONIC; 0: nothing was read
  std::array<EnergyZone, std::size_t{kMostPackages} * (1 + kMostSubzones)> zones;
};

// kPowercap, or the tree of a test switch of the site.
const char* powercap_of(const SiteOptions& site) noexcept;

// The least time between two readings; in a made tree none.
inline constexpr std::uint64_t kEnergyPauseNs = 30'000'000'000;
std::uint64_t energy_pause_of(const SiteOptions& site) noexcept;

// `directory`: kPowercap, or a made tree in a test.
EnergyReading read_energy(const char* directory) noexcept;

// Time of readings, CLOCK_MONOTONIC.
std::uint64_t energy_clock_ns() noexcept;

// How often the counter may have passed its end in that time, at most: after range / power limit of
// the zone it may have done so more than once. REQUIRES: a range.
std::uint64_t most_wraps(const EnergyZone& zone, std::uint64_t ns) noexcept;

// errno of a pair of readings of one zone that says nothing; 0: none.
int energy_fault(const EnergyZone& first, const EnergyZone& last) noexcept;

}  // namespace ondeloc
