// SPDX-License-Identifier: Apache-2.0
// Which threads of one program share pages, from samples of their page faults.
//
// Two threads share as much as the sum over the pages of the smaller number of their faults. Memory
// is bounded: if more pages come than there is room for, every second page is forgotten and never
// counted again, chosen by a hash of its address. Of the pages that remain every fault counts, so
// the proportions of the pairs stay. A page keeps the four threads with the most faults on it.
// Faults lose half of their weight with each call of age(), so that the newest ones tell.
//
// Page faults as the source: M. Diener, E. H. M. Cruz, P. O. A. Navaux, A. Busse, H.-U. Heiss,
// "kMAF: Automatic Kernel-Level Management of Thread and Data Affinity", PACT 2014, which takes
// them inside the kernel. Thread safety: a value, for one thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "mapcore/comm/comm_matrix.h"

namespace ondeloc {

class PageSharing {
 public:
  static constexpr std::size_t kMostPages = 16384;
  static constexpr std::size_t kThreadsOfPage = 4;

  PageSharing() = default;
  explicit PageSharing(int threads) : threads_(threads) {}

  // REQUIRES: 0 <= thread < threads.
  void add(int thread, std::uint64_t address);
  void age();

  int threads() const { return threads_; }
  std::uint64_t faults() const { return faults_; }  // all samples so far
  std::size_t pages() const { return pages_.size(); }
  // The messages of an entry (first thread < second thread) are the faults that the pair shares.
  CommMatrix pairs() const;

 private:
  struct Use {
    std::uint16_t thread = 0, weight = 0;
  };
  using Page = std::array<Use, kThreadsOfPage>;

  bool is_counted(std::uint64_t page) const;
  void forget_half();

  int threads_ = 0;
  int halvings_ = 0;  // one page in 2^halvings_ is counted
  std::uint64_t faults_ = 0;
  std::unordered_map<std::uint64_t, Page> pages_;
};

}  // namespace ondeloc
