// SPDX-License-Identifier: Apache-2.0
#include "spank/energy.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "mapcore/base/unique_fd.h"
#include "mapcore/options/powercap_switch.h"

namespace ondeloc {
namespace {

// A zone that tells no limit: no package and no memory of a package draws more than this.
constexpr std::uint64_t kMostMicrowatts = 1'000'000'000;
constexpr std::uint64_t kNsPerSecond = 1'000'000'000;

using Path = std::array<char, 256>;
using Text = std::array<char, 64>;

// The file's text without its newline. errno says why it is empty.
std::string_view read_text(int zone, const char* name, Text& text) noexcept {
  const UniqueFd fd(::openat(zone, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!fd.valid()) return {};
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  if (got <= 0) return {};
  const std::string_view all(text.data(), static_cast<std::size_t>(got));
  return all.substr(0, all.find('\n'));
}

// False if the file cannot be read or does not hold a number; then errno says why.
bool read_number(int zone, const char* name, std::uint64_t& number) noexcept {
  Text text;
  errno = 0;
  const std::string_view digits = read_text(zone, name, text);
  const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (!digits.empty() && fault == std::errc() && end == digits.data() + digits.size()) return true;
  if (errno == 0) errno = EINVAL;
  number = 0;
  return false;
}

EnergyKind kind_of(int zone) noexcept {
  Text text;
  const std::string_view name = read_text(zone, "name", text);
  if (name.starts_with("package-")) return EnergyKind::kPackage;
  return name == "dram" ? EnergyKind::kDram : EnergyKind::kNone;
}

// The higher of the long-term limit in force and the power that the maker designed for.
std::uint64_t power_limit(int zone) noexcept {
  std::uint64_t limit = 0, design = 0;
  (void)read_number(zone, "constraint_0_power_limit_uw", limit);
  (void)read_number(zone, "constraint_0_max_power_uw", design);
  return std::max(limit, design);
}

// False if there is no such zone.
bool read_zone(const Path& path, EnergyZone& zone) noexcept {
  const UniqueFd fd(::open(path.data(), O_RDONLY | O_CLOEXEC | O_DIRECTORY));
  if (!fd.valid()) return false;
  zone.kind = kind_of(fd.get());
  if (zone.kind == EnergyKind::kNone) return true;
  if (!read_number(fd.get(), "energy_uj", zone.microjoules)) zone.fault = errno;
  (void)read_number(fd.get(), "max_energy_range_uj", zone.range);
  zone.microwatts = power_limit(fd.get());
  return true;
}

}  // namespace

std::uint64_t energy_clock_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * kNsPerSecond +
         static_cast<std::uint64_t>(now.tv_nsec);
}

std::uint64_t most_wraps(const EnergyZone& zone, std::uint64_t ns) noexcept {
  const std::uint64_t watts = zone.microwatts > 0 ? zone.microwatts : kMostMicrowatts;
  const double microjoules =
      static_cast<double>(watts) * (static_cast<double>(ns) / static_cast<double>(kNsPerSecond));
  return 1 +
         static_cast<std::uint64_t>(std::min(1e9, microjoules / static_cast<double>(zone.range)));
}

int energy_fault(const EnergyZone& first, const EnergyZone& last) noexcept {
  if (first.fault != 0) return first.fault;
  if (last.fault != 0) return last.fault;
  if (first.kind != last.kind) return ENODEV;
  const bool fits = first.microjoules <= last.range && last.microjoules <= last.range;
  return last.range > 0 && fits ? 0 : ERANGE;
}

const char* powercap_of(const SiteOptions& site) noexcept {
  for (const std::string& word : site.test_switches)
    if (word.starts_with(kSwitchPowercap)) return word.c_str() + kSwitchPowercap.size();
  return kPowercap;
}

std::uint64_t energy_pause_of(const SiteOptions& site) noexcept {
  return powercap_of(site) == kPowercap ? kEnergyPauseNs : 0;
}

EnergyReading read_energy(const char* directory) noexcept {
  EnergyReading reading;
  Path path;
  std::size_t at = 0;
  for (int package = 0; package < kMostPackages; ++package, at += 1 + kMostSubzones) {
    int size = std::snprintf(path.data(), path.size(), "%s/intel-rapl:%d", directory, package);
    if (size < 0 || static_cast<std::size_t>(size) >= path.size() - 4) break;
    if (!read_zone(path, reading.zones[at])) continue;
    for (int sub = 0; sub < kMostSubzones; ++sub) {
      std::snprintf(path.data() + size, path.size() - static_cast<std::size_t>(size), ":%d", sub);
      if (!read_zone(path, reading.zones[at + 1 + static_cast<std::size_t>(sub)])) break;
    }
  }
  reading.at_ns = energy_clock_ns();
  return reading;
}

}  // namespace ondeloc
