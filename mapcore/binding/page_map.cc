// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/page_map.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace ondeloc {
namespace {

// Linux: Documentation/admin-guide/mm/pagemap.rst.
// Present, and mapped by one process only (since Linux 4.2).
constexpr std::uint64_t kAlone = std::uint64_t{1} << 63 | std::uint64_t{1} << 56;
constexpr std::size_t kEntries = 512;  // of one call

}  // namespace

PageMap::PageMap(pid_t pid)
    : file_(open(fmt::format("/proc/{}/pagemap", pid).c_str(), O_RDONLY | O_CLOEXEC)) {}

std::uint64_t PageMap::append_pages(std::uint64_t begin, std::uint64_t end, std::size_t most,
                                    std::vector<std::uintptr_t>& pages) const {
  const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  std::array<std::uint64_t, kEntries> entries{};
  std::uint64_t at = begin;
  while (at < end && pages.size() < most) {
    const auto wanted =
        std::min<std::uint64_t>({(end - at + page - 1) / page, kEntries, most - pages.size()});
    const ssize_t got = pread(file_.get(), entries.data(), wanted * sizeof(std::uint64_t),
                              static_cast<off_t>(at / page * sizeof(std::uint64_t)));
    const bool is_told = got >= static_cast<ssize_t>(sizeof(std::uint64_t));
    const std::uint64_t count =
        is_told ? static_cast<std::uint64_t>(got) / sizeof(std::uint64_t) : wanted;
    for (std::uint64_t i = 0; i < count; ++i, at += page)
      if (!is_told || (entries[i] & kAlone) == kAlone)
        pages.push_back(static_cast<std::uintptr_t>(at));
  }
  return at;
}

}  // namespace ondeloc
