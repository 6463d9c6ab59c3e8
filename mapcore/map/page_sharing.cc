// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/page_sharing.h"

#include <algorithm>
#include <vector>

namespace ondeloc {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint16_t kFault = 16;  // weight of a new fault: it survives four calls of age()
constexpr std::uint16_t kMostWeight = 0xffff - kFault;

// Fibonacci hashing: neighbouring pages must not share their fate.
std::uint64_t hash_of(std::uint64_t page) { return page * 0x9e3779b97f4a7c15U >> 32; }

}  // namespace

bool PageSharing::is_counted(std::uint64_t page) const {
  return (hash_of(page) & ((std::uint64_t{1} << halvings_) - 1)) == 0;
}

void PageSharing::forget_half() {
  ++halvings_;
  std::erase_if(pages_, [this](const auto& entry) { return !is_counted(entry.first); });
}

void PageSharing::add(int thread, std::uint64_t address) {
  ++faults_;
  const std::uint64_t page = address / kPageBytes;
  if (!is_counted(page)) return;
  if (pages_.size() >= kMostPages && !pages_.contains(page)) {
    forget_half();
    if (!is_counted(page)) return;
  }
  Page& uses = pages_[page];
  auto use = std::find_if(uses.begin(), uses.end(), [thread](const Use& each) {
    return each.weight > 0 && each.thread == thread;
  });
  if (use == uses.end()) {
    use = std::min_element(uses.begin(), uses.end(),
                           [](const Use& a, const Use& b) { return a.weight < b.weight; });
    *use = {static_cast<std::uint16_t>(thread), 0};
  }
  use->weight = static_cast<std::uint16_t>(std::min(use->weight, kMostWeight) + kFault);
}

// Pages that only the start of the program touched vanish here, and make room for others.
void PageSharing::age() {
  for (auto& [page, uses] : pages_)
    for (Use& use : uses) use.weight /= 2;
  std::erase_if(pages_, [](const auto& entry) {
    return std::all_of(entry.second.begin(), entry.second.end(),
                       [](const Use& use) { return use.weight == 0; });
  });
  if (halvings_ > 0 && pages_.size() < kMostPages / 4) --halvings_;
}

CommMatrix PageSharing::pairs() const {
  const auto n = static_cast<std::size_t>(threads_);
  std::vector<double> sums(n * n, 0);
  for (const auto& [page, uses] : pages_)
    for (auto a = uses.begin(); a != uses.end(); ++a)
      for (auto b = uses.begin(); b != a; ++b)
        if (a->weight > 0 && b->weight > 0)
          sums[std::min(a->thread, b->thread) * n + std::max(a->thread, b->thread)] +=
              std::min(a->weight, b->weight);
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < threads_; ++i)
    for (int j = i + 1; j < threads_; ++j)
      if (const double sum = sums[static_cast<std::size_t>(i) * n + static_cast<std::size_t>(j)];
          sum > 0)
        entries.push_back({i, j, 0, sum / kFault});
  return CommMatrix::from_entries(threads_, std::move(entries));
}

}  // namespace ondeloc
