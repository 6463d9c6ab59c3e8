// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/memory.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/ids.h"
#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/binding/proc.h"

namespace ondeloc {
namespace {

// "Node 0 MemFree:         9168080 kB"
std::optional<std::uint64_t> bytes_after(std::string_view meminfo, std::string_view name) {
  const std::size_t at = meminfo.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = trim_blanks(meminfo.substr(at + name.size()));
  const auto kib = parse_unsigned(rest.substr(0, rest.find(' ')));
  if (!kib || *kib > UINT64_MAX / 1024) return std::nullopt;
  return *kib * 1024;
}

}  // namespace

std::string about_pages_left(long pages, std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t left = static_cast<std::uint64_t>(std::max(0L, pages)) * page;
  if (left <= bytes / 10) return {};
  return capacity_text(static_cast<double>(left)) +
         " could not be moved (pinned for a device, as a rule)";
}

std::optional<std::uint64_t> room_in_meminfo(std::string_view meminfo) {
  const auto free = bytes_after(meminfo, " MemFree:");
  if (!free) return std::nullopt;
  const std::uint64_t cache = bytes_after(meminfo, " Inactive(file):").value_or(0);
  const std::uint64_t dirty = bytes_after(meminfo, " Dirty:").value_or(0);
  return *free + (cache - std::min(cache, dirty));
}

std::optional<std::uint64_t> room_on_node(int node) {
  const auto text = read_small_file(fmt::format("/sys/devices/system/node/node{}/meminfo", node));
  return text ? room_in_meminfo(*text) : std::nullopt;
}

bool may_use_memory_of(int node, const std::string& root) {
  constexpr std::string_view kKey = "Mems_allowed_list:";
  const auto status = read_small_file(root + "/proc/self/status");
  if (!status || node < 0) return true;
  for (const std::string_view line : split(*status, '\n')) {
    if (!line.starts_with(kKey)) continue;
    const auto nodes = CpuSet::parse_list(line.substr(kKey.size()));  // a list of numbers
    return !nodes || nodes->test(PuOs(node));
  }
  return true;
}

std::string other_memory_policy() {
  enum { kDefault, kPreferred, kBind, kInterleave, kLocal, kPreferredMany, kWeighted, kCount };
  constexpr std::array<const char*, kCount> kNames{
      "", "preferred", "bind", "interleave", "", "preferred-many", "weighted-interleave"};
  std::array<unsigned long, 64> nodes{};  // of more nodes than any kernel has
  int policy = kDefault;
  // If the call is missing or forbidden, nobody has set a policy with its sister.
  if (syscall(SYS_get_mempolicy, &policy, nodes.data(), 8 * sizeof(nodes), nullptr, 0) != 0)
    return {};
  policy &= 0xff;  // without the flags
  const bool has_nodes = std::ranges::any_of(nodes, [](unsigned long word) { return word != 0; });
  if (policy == kPreferred && !has_nodes) return {};  // the node of the CPU, before Linux 5.14
  return policy < kCount ? kNames[static_cast<std::size_t>(policy)] : fmt::format("{}", policy);
}

std::optional<std::string> numa_balancing() {
  const auto text = read_small_file("/proc/sys/kernel/numa_balancing");
  if (!text) return std::nullopt;
  return std::string(trim_blanks(*text));
}

bool balances_over_nodes(std::string_view setting) {
  return (parse_unsigned(setting, UINT32_MAX).value_or(0) & 1) != 0;
}

bool numa_balancing_on() { return balances_over_nodes(numa_balancing().value_or("0")); }

}  // namespace ondeloc
