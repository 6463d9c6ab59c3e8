// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/memory.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "mapcore/base/read_file.h"
#include "mapcore/base/text.h"
#include "mapcore/binding/pages.h"
#include "mapcore/binding/proc.h"

namespace ondeloc {
namespace {

constexpr int kMaxNodes = 1024;
constexpr std::size_t kMostText = std::size_t{1} << 26;  // 65530 mappings are usual at most
constexpr auto kBitsPerWord = static_cast<int>(8 * sizeof(unsigned long));
using NodeMask = std::array<unsigned long, kMaxNodes / kBitsPerWord>;

NodeMask only(int node) {
  NodeMask mask{};
  mask[static_cast<std::size_t>(node / kBitsPerWord)] = 1UL << (node % kBitsPerWord);
  return mask;
}

// "Node 0 MemFree:         9168080 kB"
std::optional<std::uint64_t> bytes_after(std::string_view meminfo, std::string_view name) {
  const std::size_t at = meminfo.find(name);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = trim_blanks(meminfo.substr(at + name.size()));
  const auto kib = parse_unsigned(rest.substr(0, rest.find(' ')));
  if (!kib || *kib > UINT64_MAX / 1024) return std::nullopt;
  return *kib * 1024;
}

void leave_sparse(std::vector<PageRange>& ranges) {
  std::erase_if(ranges, [](const PageRange& range) { return is_sparse({range}); });
}

Result<MovedPages> move_those(pid_t pid, const PagesOnNode& there, int from, int to) {
  const auto left = move_ranges(pid, there.ranges, from, to);
  if (!left) return left.error();
  return MovedPages{*left, there.interleaved};
}

Result<MovedPages> migrate_all(pid_t pid, int from, int to) {
  const NodeMask source = only(from), target = only(to);
  const long left = syscall(SYS_migrate_pages, pid, static_cast<unsigned long>(kMaxNodes),
                            source.data(), target.data());
  if (left < 0) return Error::from_errno("migrate_pages");
  return MovedPages{left};
}

}  // namespace

Result<MovedPages> move_pages_between(pid_t pid, int from, int to) {
  if (from < 0 || to < 0 || from >= kMaxNodes || to >= kMaxNodes) return Error("no such NUMA node");
  const auto numa_maps = read_file(fmt::format("/proc/{}/numa_maps", pid), kMostText);
  const auto maps = read_file(fmt::format("/proc/{}/maps", pid), kMostText);
  if (numa_maps && maps) {
    PagesOnNode there = pages_on_node(*numa_maps, *maps, from);
    if (there.interleaved) leave_sparse(there.ranges);
    if (there.interleaved || !is_sparse(there.ranges)) return move_those(pid, there, from, to);
  }
  return migrate_all(pid, from, to);
}

std::string about_pages_left(long pages, std::uint64_t bytes) {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  const std::uint64_t left = static_cast<std::uint64_t>(std::max(0L, pages)) * page;
  if (left <= bytes / 10) return {};
  return fmt::format("{} MiB could not be moved (pinned for a device, as a rule)", left >> 20);
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

bool numa_balancing_on() {
  const auto text = read_small_file("/proc/sys/kernel/numa_balancing");
  return text && trim_blanks(*text) != "0";
}

}  // namespace ondeloc
