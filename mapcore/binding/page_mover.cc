// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/page_mover.h"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "mapcore/base/read_file.h"
#include "mapcore/binding/memory.h"
#include "mapcore/binding/page_map.h"
#include "mapcore/binding/proc.h"

namespace ondeloc {
namespace {

constexpr std::size_t kMostText = std::size_t{1} << 26;  // 65530 mappings are usual at most
// Pages of one call. The kernel copies 16 MiB of small pages in some milliseconds if there is room,
// and takes many times as long if it has to make room page by page.
constexpr std::size_t kPiece = 4096;
// The kernel keeps the pages of a huge page together if it can, and moves them as one.
constexpr std::uintptr_t kHugePage = std::uintptr_t{1} << 21;
constexpr int kMostFruitless = 2;

constexpr int kMaxNodes = 1024;
constexpr auto kBitsPerWord = static_cast<int>(8 * sizeof(unsigned long));
using NodeMask = std::array<unsigned long, kMaxNodes / kBitsPerWord>;

NodeMask only(int node) {
  NodeMask mask{};
  mask[static_cast<std::size_t>(node / kBitsPerWord)] = 1UL << (node % kBitsPerWord);
  return mask;
}

bool is_node(int node) { return node >= 0 && node < kMaxNodes; }

std::uint64_t page_size() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

void leave_sparse(std::vector<PageRange>& ranges) {
  std::erase_if(ranges, [](const PageRange& range) { return is_sparse({range}); });
}

std::uint64_t own_bytes(const std::vector<PageRange>& ranges) {
  std::uint64_t bytes = 0;
  for (const PageRange& range : ranges) bytes += range.own ? range.on_node : 0;
  return bytes;
}

PagesOnNode find_pages(const std::optional<PageTexts>& texts, int from) {
  return texts ? pages_on_node(texts->numa_maps, texts->maps, from) : PagesOnNode{};
}

}  // namespace

std::optional<PageTexts> read_page_texts(pid_t pid) {
  auto numa_maps = read_file(fmt::format("/proc/{}/numa_maps", pid), kMostText);
  auto maps = read_file(fmt::format("/proc/{}/maps", pid), kMostText);
  if (!numa_maps || !maps) return std::nullopt;
  return PageTexts{*std::move(numa_maps), *std::move(maps)};
}

PageMover::PageMover(pid_t pid, const std::optional<PageTexts>& texts, int from, int to)
    : PageMover(pid, find_pages(texts, from), from, to) {
  if (texts) return;
  whole_ = true;
  all_ = bytes_ = read_private_bytes(pid).value_or(0);
}

PageMover::PageMover(pid_t pid, PagesOnNode there, int from, int to)
    : pid_(pid),
      from_(from),
      to_(to),
      ranges_(std::move(there.ranges)),
      interleaved_(there.interleaved) {
  if (interleaved_) leave_sparse(ranges_);
  whole_ = !interleaved_ && is_sparse(ranges_);
  std::stable_partition(ranges_.begin(), ranges_.end(),
                        [](const PageRange& range) { return range.own; });
  if (!ranges_.empty()) at_ = ranges_.front().begin;
  all_ = bytes_ = own_bytes(ranges_);
}

Result<PageMover::Step> PageMover::step(std::size_t at_once) {
  if (!is_node(from_) || !is_node(to_)) return Error("no such NUMA node");
  if (whole_) return step_whole(at_once);
  if (pages_.empty()) gather();
  if (pages_.empty()) return Step::kDone;
  if (Status looked = keep_those_on_node(); !looked) return std::move(looked).error();
  return move_piece(at_once);
}

Result<PageMover::Step> PageMover::step_whole(std::size_t at_once) {
  if (!has_room(at_once * bytes_)) return Step::kNoRoom;
  const NodeMask source = only(from_), target = only(to_);
  const long left = syscall(SYS_migrate_pages, pid_, static_cast<unsigned long>(kMaxNodes),
                            source.data(), target.data());
  if (left < 0) return Error::from_errno("migrate_pages");
  left_ = left;
  bytes_ = 0;
  return Step::kDone;
}

// Pages in memory of the process alone and in shared memory are never in one piece: if there is no
// room, only the former are waited for.
void PageMover::gather() {
  const PageMap map(pid_);
  for (; range_ < ranges_.size() && pages_.size() < kPiece; ++range_) {
    const PageRange& range = ranges_[range_];
    if (!pages_.empty() && range.own != own_) return;
    own_ = range.own;
    at_ = map.append_pages(std::max(at_, range.begin), range.end, kPiece, pages_);
    if (at_ < range.end) return;
    at_ = 0;
  }
}

// Other processes may have filled the node since the move began; each call would then search for
// room in vain.
bool PageMover::has_room(std::uint64_t bytes) const {
  const auto room = room_on_node(to_);
  return !room || *room >= bytes + kSpareRoom;
}

// A call ends at the first huge page that cannot be moved (pinned, or in use at that moment). The
// next call continues after that page.
Result<PageMover::Step> PageMover::move_piece(std::size_t at_once) {
  const std::vector<int> nodes(pages_.size(), to_);
  for (int fruitless = 0; !pages_.empty() && fruitless < kMostFruitless;) {
    const std::size_t before = pages_.size();
    const bool fits = has_room((own_ ? at_once : 1) * before * page_size());
    if (!fits && own_) return Step::kNoRoom;
    if (!fits) break;  // not waited for: shared pages are not what slows the rank down
    const auto failed = call(nodes.data(), MPOL_MF_MOVE);
    if (!failed) return failed.error();
    if (Status looked = keep_those_on_node(); !looked) return std::move(looked).error();
    const std::uint64_t moved = (before - pages_.size()) * page_size();
    if (own_) bytes_ -= std::min(bytes_, moved);
    if (*failed == 0) break;
    fruitless = moved > 0 ? 0 : fruitless + 1;
    leave_first();
  }
  leave(pages_.size());
  return Step::kMoved;
}

// Moves the pages of the piece; without nodes it only asks where they are. status_ gets the node or
// the error of each page. Returns the number of pages that were not moved.
Result<long> PageMover::call(const int* nodes, int flags) {
  status_.assign(pages_.size(), -1);
  const long failed =
      syscall(SYS_move_pages, pid_, pages_.size(), pages_.data(), nodes, status_.data(), flags);
  if (failed >= 0) return failed;
  if (errno == ENOENT || errno == EBUSY) return 0L;  // older kernels: none could be moved
  if (errno == EINVAL) errno = ESRCH;                // the process has ended, but is not reaped yet
  return Error::from_errno("move_pages");
}

// Linux 6.1 answers EFAULT for pages that kernel.numa_balancing has marked. They are left out: the
// kernel moves them itself when the process touches them.
Status PageMover::keep_those_on_node() {
  if (const auto looked = call(nullptr, 0); !looked) return looked.error();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < pages_.size(); ++i) {
    if (status_[i] == from_) pages_[kept++] = pages_[i];
  }
  pages_.resize(kept);
  return {};
}

void PageMover::leave(std::size_t count) {
  if (own_) left_ += static_cast<long>(count);
  if (own_) bytes_ -= std::min(bytes_, count * page_size());
  pages_.erase(pages_.begin(), pages_.begin() + static_cast<std::ptrdiff_t>(count));
}

void PageMover::leave_first() {
  std::size_t count = 0;
  while (count < pages_.size() && pages_[count] / kHugePage == pages_.front() / kHugePage) ++count;
  leave(count);
}

}  // namespace ondeloc
