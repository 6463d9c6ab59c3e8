// SPDX-License-Identifier: Apache-2.0
// The energy of the node over a step, summed from readings at its start, now and then in between,
// and at its end. Readings in between keep a counter of a long step from wrapping unseen: a package
// of 200 W passes the end of a common counter after 20 to 40 minutes.
//
// slurmstepd has no timer of ours. A reading in between is taken when a PMIx event of a rank comes,
// which the mapper asks for every 10 s. A step without events has the two others only.
// Thread safety: any thread. A reading in between gives way, the last one waits a second at most.
// Errors: in the record.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "spank/energy.h"

namespace ondeloc {

class EnergyMeter {
 public:
  // `directory` as for read_energy(). It must stay valid. `pause_ns`: no reading in between comes
  // sooner after another one.
  void start(const char* directory, std::uint64_t pause_ns) noexcept;
  void start(const EnergyReading& first) noexcept;
  bool is_started() const noexcept { return started_.load(std::memory_order_acquire); }

  // A reading in between. A counter that cannot be read now is left to the next reading.
  void sample() noexcept;
  void add(const EnergyReading& now) noexcept;

  // The last reading.
  void finish(ondeloc_record_end& record) noexcept;
  void finish(const EnergyReading& last, ondeloc_record_end& record) noexcept;

 private:
  struct ZoneSum {
    EnergyZone last;  // the last reading that could be read
    std::uint64_t at_ns = 0;
    std::uint64_t microjoules = 0;
    std::uint64_t wraps = 0;  // > 1: so often it may have wrapped between two readings
  };
  static void advance(ZoneSum& sum, const EnergyZone& now, std::uint64_t at_ns) noexcept;
  bool take_within_a_second() noexcept;

  std::array<ZoneSum, std::tuple_size_v<decltype(EnergyReading::zones)>> sums_;
  std::uint64_t start_ns_ = 0, read_ns_ = 0, pause_ns_ = 0;
  const char* directory_ = nullptr;
  std::atomic<bool> started_{false};
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};

}  // namespace ondeloc
