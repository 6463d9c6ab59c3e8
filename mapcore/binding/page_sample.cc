// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/page_sample.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "mapcore/base/read_file.h"
#include "mapcore/binding/proc.h"

namespace ondeloc {
namespace {

constexpr std::size_t kMostMaps = std::size_t{1} << 23;  // some ten thousand mappings
// The error of a share is 0.02 with 512 pages. Where most of the addresses have no page, more are
// looked at.
constexpr std::size_t kSample = 512, kLargeSample = 2048, kLeastFound = 64;
constexpr std::uint64_t kTimesUsed = 16;

// Returns the nodes of those of at most `most` addresses that have a page; nothing if the process
// is gone.
std::optional<PagesByNode> nodes_of_pages(pid_t pid, std::span<const AddressRange> ranges,
                                          std::size_t most) {
  auto addresses =
      spread_addresses(ranges, static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)), most);
  std::vector<int> nodes(addresses.size(), -1);
  if (syscall(SYS_move_pages, pid, addresses.size(), addresses.data(), nullptr, nodes.data(), 0) <
      0)
    return std::nullopt;
  PagesByNode found;
  for (const int node : nodes)
    if (node >= 0) ++found[node];  // else: not there, or an error of this page
  return found;
}

std::size_t pages_in(const PagesByNode& pages) {
  std::size_t all = 0;
  for (const auto& [node, count] : pages) all += count;
  return all;
}

}  // namespace

std::vector<std::uintptr_t> spread_addresses(std::span<const AddressRange> ranges,
                                             std::uint64_t page_bytes, std::size_t most) {
  std::uint64_t pages = 0;
  for (const AddressRange& range : ranges) pages += (range.end - range.begin) / page_bytes;
  const std::uint64_t stride = std::max<std::uint64_t>(1, (pages + most - 1) / most);
  std::vector<std::uintptr_t> addresses;
  std::uint64_t skip = 0;  // pages until the next address
  for (const AddressRange& range : ranges) {
    const std::uint64_t here = (range.end - range.begin) / page_bytes;
    for (; skip < here; skip += stride)
      addresses.push_back(static_cast<std::uintptr_t>(range.begin + skip * page_bytes));
    skip -= here;
  }
  return addresses;
}

std::optional<PagesByNode> sample_pages(pid_t pid) {
  const auto maps = read_file(fmt::format("/proc/{}/maps", pid), kMostMaps);
  if (!maps) return std::nullopt;
  std::vector<AddressRange> ranges = own_ranges(*maps);
  // A range that was reserved and is hardly used would take the whole sample.
  const std::uint64_t used = read_private_bytes(pid).value_or(0);
  std::erase_if(ranges, [used](const AddressRange& range) {
    return (range.end - range.begin) / kTimesUsed > used;
  });
  for (const std::size_t most : {kSample, kLargeSample}) {
    auto found = nodes_of_pages(pid, ranges, most);
    if (!found || pages_in(*found) >= kLeastFound) return found;
  }
  return std::nullopt;
}

double far_share(const PagesByNode& pages, const std::map<int, double>& threads) {
  const auto all = static_cast<double>(pages_in(pages));
  double far = 0;
  for (const auto& [node, count] : pages) {
    const auto at = threads.find(node);
    const double here = at == threads.end() ? 0 : at->second;
    far += std::max(0.0, static_cast<double>(count) - here * all);
  }
  return all > 0 ? far / all : 0;
}

}  // namespace ondeloc
