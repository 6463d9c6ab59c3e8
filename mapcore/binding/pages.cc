// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <unordered_map>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (bad != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct MemoryArea {
  std::uint64_t begin = 0, end = 0;
  std::string_view rest;  // "rw-p 00000000 00:00 0 [heap]"
  bool is_private() const { return rest[3] == 'p'; }
};

// User addresses end below 2^63, so loops over the pages of areas that end there cannot
// overflow.
constexpr std::uint64_t kEndOfUser = std::uint64_t{1} << 63;

// "7f2c5c000000-7f2c5c021000 rw-p 00000000 00:00 0"
std::optional<MemoryArea> read_area(std::string_view line) {
  const std::size_t dash = line.find('-'), blank = line.find(' ');
  if (blank == line.npos || dash > blank || blank + 4 >= line.size()) return std::nullopt;
  const auto begin = hexadecimal(line.substr(0, dash));
  const auto end = hexadecimal(line.substr(dash + 1, blank - dash - 1));
  if (!begin || !end || *begin >= *end || *end > kEndOfUser) return std::nullopt;
  return MemoryArea{*begin, *end, line.substr(blank + 1)};
}

std::unordered_map<std::uint64_t, MemoryArea> read_areas(std::string_view maps) {
  std::unordered_map<std::uint64_t, MemoryArea> found;
  for (const std::string_view line : split(maps, '\n'))
    if (const auto area = read_area(line)) found[area->begin] = *area;
  return found;
}

// Memory of no file: its inode is 0, and no name or one of the kernel's stands behind it.
bool is_own(const MemoryArea& area) {
  const auto fields = split(area.rest, ' ');
  if (fields.size() < 4 || area.rest[1] != 'w' || !area.is_private() || fields[3] != "0")
    return false;
  // The name is all that stands behind the inode: "[anon: a name]" has blanks.
  const std::string_view inode = fields[3];
  const auto end = static_cast<std::size_t>(inode.data() + inode.size() - area.rest.data());
  const std::string_view name = trim_blanks(area.rest.substr(end));
  return name.empty() || name == "[heap]" || name.starts_with("[stack") ||
         name.starts_with("[anon");
}

std::uint64_t number_after(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == line.npos) return 0;
  const std::string_view rest = line.substr(at + name.size());
  return parse_unsigned(rest.substr(0, rest.find(' '))).value_or(0);
}

// "7f2c5c000000 interleave:0-3 anon=..."; "weighted interleave=static:0-1" as well. If the
// mapping has no policy of its own, the kernel shows the policy of the process.
bool is_interleaved(std::string_view line) {
  const std::string_view policy = line.substr(std::min(line.find(' '), line.size()));
  return policy.starts_with(" interleave") || policy.starts_with(" weighted interleave");
}

}  // namespace

std::vector<AddressRange> own_ranges(std::string_view maps) {
  std::vector<AddressRange> ranges;
  for (const std::string_view line : split(maps, '\n'))
    if (const auto area = read_area(line); area && is_own(*area))
      ranges.push_back({area->begin, area->end});
  return ranges;
}

// "7f2c5c000000 default anon=33 dirty=33 N0=20 N1=13 kernelpagesize_kB=4"; blanks in names of files
// are escaped.
PagesOnNode pages_on_node(std::string_view numa_maps, std::string_view maps, int node) {
  const auto areas = read_areas(maps);
  const std::string count = fmt::format(" N{}=", node);
  PagesOnNode found;
  for (const std::string_view line : split(numa_maps, '\n')) {
    const auto begin = hexadecimal(line.substr(0, line.find(' ')));
    const auto area = begin ? areas.find(*begin) : areas.end();
    const std::uint64_t pages = number_after(line, count);
    if (area == areas.end() || pages == 0) continue;
    if (is_interleaved(line)) {
      found.interleaved = true;
      continue;
    }
    const std::uint64_t size = area->second.end - *begin;
    const std::uint64_t page =
        std::max<std::uint64_t>(1, number_after(line, " kernelpagesize_kB="));
    const bool fits = pages < size / 1024 / page;
    found.ranges.push_back({*begin, area->second.end, fits ? pages * page * 1024 : size,
                            area->second.is_private() && line.find(" anon=") != line.npos});
  }
  return found;
}

bool is_sparse(const std::vector<PageRange>& ranges) {
  constexpr std::uint64_t kMuch = std::uint64_t{1} << 30, kTimes = 64;
  std::uint64_t reserved = 0, used = 0;
  for (const PageRange& range : ranges) {
    reserved += range.end - range.begin;
    used += range.on_node;
  }
  return reserved > kMuch && reserved / kTimes > used;
}

}  // namespace ondeloc
