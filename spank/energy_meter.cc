// SPDX-License-Identifier: Apache-2.0
#include "spank/energy_meter.h"

#include <time.h>

#include <algorithm>

namespace ondeloc {
namespace {

void add_state(ondeloc_energy& sum, std::uint32_t state, std::uint64_t detail) noexcept {
  sum.state = std::max(sum.state, state);
  if (sum.state == state) sum.detail = std::max(sum.detail, static_cast<std::uint32_t>(detail));
}

}  // namespace

void EnergyMeter::start(const char* directory, std::uint64_t pause_ns) noexcept {
  directory_ = directory;
  pause_ns_ = pause_ns;
  start(read_energy(directory));
}

void EnergyMeter::start(const EnergyReading& first) noexcept {
  for (std::size_t i = 0; i < sums_.size(); ++i) sums_[i] = {first.zones[i], first.at_ns, 0, 0};
  start_ns_ = read_ns_ = first.at_ns;
  started_.store(first.at_ns != 0, std::memory_order_release);
}

void EnergyMeter::sample() noexcept {
  if (!is_started() || busy_.test_and_set(std::memory_order_acquire)) return;
  if (energy_clock_ns() >= read_ns_ + pause_ns_) add(read_energy(directory_));
  busy_.clear(std::memory_order_release);
}

void EnergyMeter::advance(ZoneSum& sum, const EnergyZone& now, std::uint64_t at_ns) noexcept {
  if (energy_fault(sum.last, now) != 0) return;
  sum.wraps = std::max(sum.wraps, most_wraps(now, at_ns - sum.at_ns));
  const bool went_back = now.microjoules < sum.last.microjoules;
  // max_energy_range_uj is the value after which the counter begins at 0 again.
  sum.microjoules +=
      now.microjoules - sum.last.microjoules + (went_back ? now.range : std::uint64_t{0});
  sum.last = now;
  sum.at_ns = at_ns;
}

void EnergyMeter::add(const EnergyReading& now) noexcept {
  for (std::size_t i = 0; i < sums_.size(); ++i) advance(sums_[i], now.zones[i], now.at_ns);
  read_ns_ = now.at_ns;
}

// The thread of events holds the meter for the time of a reading. If a read from the kernel hangs,
// the end of the step must not.
bool EnergyMeter::take_within_a_second() noexcept {
  for (int i = 0; i < 1000; ++i) {
    if (!busy_.test_and_set(std::memory_order_acquire)) return true;
    const timespec pause{0, 1'000'000};
    nanosleep(&pause, nullptr);
  }
  return false;
}

void EnergyMeter::finish(ondeloc_record_end& record) noexcept {
  record.package_energy = record.dram_energy = {};
  if (!is_started() || !take_within_a_second()) return;
  finish(read_energy(directory_), record);
  started_.store(false, std::memory_order_release);
  busy_.clear(std::memory_order_release);
}

void EnergyMeter::finish(const EnergyReading& last, ondeloc_record_end& record) noexcept {
  record.package_energy = record.dram_energy = {};
  if (!is_started()) return;
  record.energy_ns = last.at_ns - start_ns_;
  for (std::size_t i = 0; i < sums_.size(); ++i) {
    ZoneSum& sum = sums_[i];
    const EnergyKind kind = std::max(sum.last.kind, last.zones[i].kind);
    if (kind == EnergyKind::kNone) continue;
    auto& total = kind == EnergyKind::kPackage ? record.package_energy : record.dram_energy;
    const int fault = energy_fault(sum.last, last.zones[i]);
    advance(sum, last.zones[i], last.at_ns);
    if (fault != 0) {
      add_state(total, ONDELOC_ENERGY_UNREADABLE, static_cast<std::uint64_t>(fault));
    } else if (sum.wraps > 1) {
      add_state(total, ONDELOC_ENERGY_WRAPPED, sum.wraps);
    } else {
      total.microjoules += sum.microjoules;
      add_state(total, ONDELOC_ENERGY_KNOWN, 0);
    }
  }
}

}  // namespace ondeloc
