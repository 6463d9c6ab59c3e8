// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/node_energy.h"

#include <fmt/format.h>

#include <cstring>
#include <optional>
#include <string_view>
#include <utility>

#include "mapcore/base/text.h"
#include "mapcore/devices/sysfs.h"

namespace ondeloc {
namespace {

constexpr const char* kMonitors = "/sys/fs/resctrl/mon_data";

// Empty if it is known.
std::string why_unknown(const ondeloc_energy& energy) {
  switch (energy.state) {
    case ONDELOC_ENERGY_KNOWN:
      return "";
    case ONDELOC_ENERGY_ABSENT:
      return "the kernel shows no such counter in /sys/class/powercap";
    case ONDELOC_ENERGY_WRAPPED:
      return fmt::format("nobody read a counter for so long that it may have wrapped {} times",
                         energy.detail);
    default:
      return fmt::format("a counter cannot be read: {}",
                         std::strerror(static_cast<int>(energy.detail)));
  }
}

std::optional<double> joules_of(const ondeloc_energy& energy) {
  if (energy.state != ONDELOC_ENERGY_KNOWN) return std::nullopt;
  return static_cast<double>(energy.microjoules) * 1e-6;
}

}  // namespace

ReportEnergy energy_of(const ondeloc_record_end& record) {
  return {static_cast<double>(record.energy_ns) * 1e-9, joules_of(record.package_energy),
          joules_of(record.dram_energy), why_unknown(record.package_energy),
          why_unknown(record.dram_energy)};
}

NodeMemory::NodeMemory(std::string root) : root_(std::move(root)), start_(read()) {}

std::variant<NodeMemory::Bytes, std::string> NodeMemory::read() const {
  const Sysfs files(root_);
  if (!files.exists(kMonitors)) return fmt::format("there is no {}", kMonitors);
  Bytes sum;
  bool found = false;
  for (const std::string& monitor : files.list(kMonitors)) {
    if (!monitor.starts_with("mon_L3_")) continue;
    const std::string base = fmt::format("{}/{}/", kMonitors, monitor);
    for (const auto& [name, bytes] : {std::pair("mbm_local_bytes", &Bytes::local),
                                      std::pair("mbm_total_bytes", &Bytes::total)}) {
      const std::string path = base + name, text = files.read(path);
      const auto number = parse_unsigned(text, UINT64_MAX);
      if (!number)
        return text.empty() ? path + " cannot be read"
                            : fmt::format("{} says '{}'", path, shorten(text));
      sum.*bytes += *number;
      found = true;
    }
  }
  if (!found) return fmt::format("{} has no monitor of a last-level cache", kMonitors);
  return sum;
}

ReportMemory NodeMemory::since_start() const {
  const auto end = read();
  for (const auto* reading : {&start_, &end})
    if (const auto* why = std::get_if<std::string>(reading)) return {{}, {}, {}, *why};
  const Bytes &from = std::get<Bytes>(start_), &to = std::get<Bytes>(end);
  if (to.local < from.local || to.total < from.total)
    return {{}, {}, {}, "the kernel has set the counters back"};
  const auto local = static_cast<double>(to.local - from.local),
             total = static_cast<double>(to.total - from.total);
  ReportMemory memory{local, total, {}, ""};
  // The two counters of a cache are not read at one instant.
  if (total > 0) memory.remote_share = local < total ? (total - local) / total : 0;
  return memory;
}

}  // namespace ondeloc
