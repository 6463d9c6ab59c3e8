// SPDX-License-Identifier: Apache-2.0
// Moves the pages of a process from one NUMA node to another, piece by piece. migrate_pages(2)
// copies all pages in one call, which no signal ends: with a rank of 100 GB a cancelled step would
// wait for the call longer than Slurm's UnkillableStepTimeout, after which Slurm drains the node.
// Besides, ranks that change places between full nodes can only move piece by piece. Thread safety:
// each mover for one thread at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/binding/pages.h"

namespace ondeloc {

// /proc/pid/numa_maps and maps. They are read once for all moves of a process: for a large process
// that takes long.
struct PageTexts {
  std::string numa_maps, maps;
};
// Empty if the kernel does not provide them.
std::optional<PageTexts> read_page_texts(pid_t pid);

class PageMover {
 public:
  enum class Step { kMoved, kNoRoom, kDone };

  // `from`, `to`: kernel's numbers. Without texts, or if the process has reserved far more memory
  // than it uses, all pages go in one piece by migrate_pages(2). That call ignores memory policies,
  // so sparsely used ranges stay if a policy interleaves.
  PageMover(pid_t pid, const std::optional<PageTexts>& texts, int from, int to);
  PageMover(pid_t pid, PagesOnNode there, int from, int to);

  // Copies the next piece (16 MiB); blocks for some milliseconds if there is room for it and for
  // the pieces of `at_once` - 1 other movers. kNoRoom: try again later. Errors: the kernel's; ESRCH
  // if the process has ended.
  Result<Step> step(std::size_t at_once = 1);
  std::uint64_t bytes() const { return bytes_; }  // still to move, roughly
  std::uint64_t bytes_at_first() const { return all_; }
  long left() const { return left_; }                // pages of its own that did not move
  bool interleaved() const { return interleaved_; }  // see PagesOnNode

 private:
  Result<Step> step_whole(std::size_t at_once);
  void gather();
  bool has_room(std::uint64_t bytes) const;
  Result<Step> move_piece(std::size_t at_once);
  Result<long> call(const int* nodes, int flags);
  Status keep_those_on_node();
  void leave(std::size_t count);
  void leave_first();

  pid_t pid_;
  int from_, to_;
  std::vector<PageRange> ranges_;  // those of its own first
  bool interleaved_ = false, whole_ = false;
  std::size_t range_ = 0;  // gathered next
  std::uint64_t at_ = 0;
  std::vector<int> status_;
  std::vector<std::uintptr_t>
      pages_;        // the piece: addresses in the other process, the kernel's void**
  bool own_ = true;  // the piece is of ranges of its own
  std::uint64_t all_ = 0, bytes_ = 0;
  long left_ = 0;
};

}  // namespace ondeloc
