// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/pages.h"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <unordered_map>

#include "mapcore/base/text.h"
#include "mapcore/binding/memory.h"

namespace ondeloc {
namespace {

std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (bad != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

struct Mapping {
  std::uint64_t end;
  bool is_private;
};

// No process has memory above, and no loop over the pages of what ends below goes round.
constexpr std::uint64_t kEndOfUser = std::uint64_t{1} << 63;

// "7f2c5c000000-7f2c5c021000 rw-p 00000000 00:00 0"
std::unordered_map<std::uint64_t, Mapping> read_mappings(std::string_view maps) {
  std::unordered_map<std::uint64_t, Mapping> found;
  for (const std::string_view line : split(maps, '\n')) {
    const std::size_t dash = line.find('-'), blank = line.find(' ');
    if (blank == line.npos || dash > blank || blank + 4 >= line.size()) continue;
    const auto begin = hexadecimal(line.substr(0, dash));
    const auto end = hexadecimal(line.substr(dash + 1, blank - dash - 1));
    if (begin && end && *begin < *end && *end <= kEndOfUser)
      found[*begin] = {*end, line[blank + 4] == 'p'};
  }
  return found;
}

std::uint64_t number_after(std::string_view line, std::string_view name) {
  const std::size_t at = line.find(name);
  if (at == line.npos) return 0;
  const std::string_view rest = line.substr(at + name.size());
  return parse_unsigned(rest.substr(0, rest.find(' '))).value_or(0);
}

// "7f2c5c000000 interleave:0-3 anon=..."; "weighted interleave=static:0-1" as well. Where the
// mapping has no policy of its own the kernel shows the process's.
bool is_interleaved(std::string_view line) {
  const std::string_view policy = line.substr(std::min(line.find(' '), line.size()));
  return policy.starts_with(" interleave") || policy.starts_with(" weighted interleave");
}

// The pages of one call: 16 MiB of small ones are copied in some milliseconds where there is room,
// and many times as slow where the kernel has to make it page by page.
constexpr std::size_t kPiece = 4096;
// What the kernel keeps together where it can. It moves it as one.
constexpr std::uintptr_t kHugePage = std::uintptr_t{1} << 21;
constexpr int kMostFruitless = 2;

class Mover {
 public:
  Mover(pid_t pid, int from, int to) : pid_(pid), from_(from), nodes_(kPiece, to) {
    pages_.reserve(kPiece);
  }

  Status add(const PageRange& range) {
    const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    for (std::uint64_t at = range.begin; at < range.end; at += page) {
      pages_.push_back(static_cast<std::uintptr_t>(at));
      if (pages_.size() < kPiece) continue;
      if (Status moved = move(); !moved) return moved;
    }
    return {};
  }

  // What was added since the last time. A call ends at the first huge page that cannot be moved
  // (pinned, or in use at that moment): the next one goes on behind it.
  Status move() {
    if (Status looked = keep_those_on_node(); !looked) return looked;
    for (int fruitless = 0; fits() && fruitless < kMostFruitless;) {
      const std::size_t before = pages_.size();
      const auto failed = call(nodes_.data(), MPOL_MF_MOVE);
      if (!failed) return failed.error();
      if (Status looked = keep_those_on_node(); !looked) return looked;
      if (*failed == 0) break;
      fruitless = pages_.size() < before ? 0 : fruitless + 1;
      leave_first();
    }
    leave(pages_.size());
    return {};
  }

  long left() const { return left_; }

 private:
  // Somebody else may have filled the node since this began: each call would look for room in vain.
  bool fits() const {
    if (pages_.empty()) return false;
    const auto room = room_on_node(nodes_.front());
    return !room || *room >= pages_.size() * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  }

  // Without nodes: where the pages are. Of pages that are not there the kernel says so in status_.
  // Returns how many pages it failed to move or did not come to.
  Result<long> call(const int* nodes, int flags) {
    status_.assign(pages_.size(), -1);
    const long failed =
        syscall(SYS_move_pages, pid_, pages_.size(), pages_.data(), nodes, status_.data(), flags);
    if (failed >= 0) return failed;
    if (errno == ENOENT || errno == EBUSY) return 0L;  // older kernels: none could be moved
    if (errno == EINVAL) errno = ESRCH;                // it has ended and nobody has waited for it
    return Error::from_errno("move_pages");
  }

  void leave(std::size_t count) {
    left_ += static_cast<long>(count);
    pages_.erase(pages_.begin(), pages_.begin() + static_cast<std::ptrdiff_t>(count));
  }

  void leave_first() {
    std::size_t count = 0;
    while (count < pages_.size() && pages_[count] / kHugePage == pages_.front() / kHugePage)
      ++count;
    leave(count);
  }

  Status keep_those_on_node() {
    if (const auto looked = call(nullptr, 0); !looked) return looked.error();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < pages_.size(); ++i) {
      if (status_[i] == from_) pages_[kept++] = pages_[i];
    }
    pages_.resize(kept);
    return {};
  }

  pid_t pid_;
  int from_;
  std::vector<int> nodes_, status_;
  std::vector<std::uintptr_t> pages_;  // the kernel's void**: addresses over there
  long left_ = 0;
};

Status move_all(Mover& mover, const std::vector<PageRange>& ranges, bool own) {
  for (const PageRange& range : ranges) {
    if (range.own != own) continue;
    if (Status added = mover.add(range); !added) return added;
  }
  return mover.move();
}

}  // namespace

// "7f2c5c000000 default anon=33 dirty=33 N0=20 N1=13 kernelpagesize_kB=4"; blanks in names of files
// are escaped.
PagesOnNode pages_on_node(std::string_view numa_maps, std::string_view maps, int node) {
  const auto mappings = read_mappings(maps);
  const std::string count = fmt::format(" N{}=", node);
  PagesOnNode found;
  for (const std::string_view line : split(numa_maps, '\n')) {
    const auto begin = hexadecimal(line.substr(0, line.find(' ')));
    const auto mapping = begin ? mappings.find(*begin) : mappings.end();
    const std::uint64_t pages = number_after(line, count);
    if (mapping == mappings.end() || pages == 0) continue;
    if (is_interleaved(line)) {
      found.interleaved = true;
      continue;
    }
    const std::uint64_t size = mapping->second.end - *begin;
    const std::uint64_t page =
        std::max<std::uint64_t>(1, number_after(line, " kernelpagesize_kB="));
    const bool fits = pages < size / 1024 / page;
    found.ranges.push_back({*begin, mapping->second.end, fits ? pages * page * 1024 : size,
                            mapping->second.is_private && line.find(" anon=") != line.npos});
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

Result<long> move_ranges(pid_t pid, const std::vector<PageRange>& ranges, int from, int to) {
  if (from == to) return 0L;
  Mover mover(pid, from, to);
  if (Status own = move_all(mover, ranges, true); !own) return std::move(own).error();
  const long left = mover.left();
  if (Status others = move_all(mover, ranges, false); !others) return std::move(others).error();
  return left;
}

}  // namespace ondeloc
