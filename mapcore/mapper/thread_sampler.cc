// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/thread_sampler.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "mapcore/binding/memory.h"
#include "mapcore/mapper/rank_list.h"

namespace ondeloc {
namespace {

// A ring has room for 1024 samples.
constexpr auto kReadEvery = std::chrono::seconds(1);
constexpr auto kAgeEvery = std::chrono::seconds(60);
constexpr std::size_t kMostOfNode = 16384, kMostOfThread = 512;  // samples in that time
constexpr std::uint64_t kLongestPeriod = 4096;
constexpr std::size_t kMostSampled = 4096;  // a descriptor each
constexpr std::size_t kMostPairs = 64;      // of a rank in the report

struct ExchangeText {
  Exchange found;
  const char* text;
};

constexpr ExchangeText kExchangeTexts[] = {
    {Exchange::kAlike, "all seats are equally near, so the order of the threads does not matter"},
    {Exchange::kTooFew, "too few page faults were seen to tell which threads share pages"},
    {Exchange::kInOrder, "no order of the threads is clearly better for the pages they share"},
    {Exchange::kBetter, "a better order of the threads was found too late"},
};

std::string why_no_hinting_faults(std::size_t nodes) {
  if (nodes < 2)
    return "this machine has one NUMA node, so the kernel makes no NUMA hinting faults";
  const auto setting = numa_balancing();
  if (!setting) return "this kernel has no kernel.numa_balancing";
  if (balances_over_nodes(*setting)) return "";
  return fmt::format(
      "kernel.numa_balancing is {}; the administrator can set it: sysctl kernel.numa_balancing=1",
      *setting);
}

}  // namespace

ThreadSampler::ThreadSampler(int ranks, std::size_t nodes)
    : ranks_(static_cast<std::size_t>(ranks)),
      why_(why_no_hinting_faults(nodes)),
      age_at_(Clock::now() + kAgeEvery) {}

void ThreadSampler::open(OfRank& rank) {
  if (threads_ + rank.threads.size() > kMostSampled)
    why_ = fmt::format("the ranks have more than {} threads", kMostSampled);
  for (const pid_t thread : rank.threads) {
    auto faults = PageFaults::of_thread(thread);
    if (!faults && faults.error().code() != ESRCH) why_ = faults.error().message();
    if (!faults || !why_.empty()) return rank.faults.clear();  // ESRCH: the thread has ended
    rank.faults.push_back(*std::move(faults));
  }
}

void ThreadSampler::follow(LocalRank local, std::span<const pid_t> threads, bool matters) {
  OfRank& rank = ranks_[local];
  if (!std::ranges::equal(threads, rank.threads)) {
    rank = {};
    rank.threads.assign(threads.begin(), threads.end());
    rank.sharing = PageSharing(static_cast<int>(threads.size()));
  }
  if (!matters && rank.faults.empty()) rank.found = Exchange::kAlike;
  if (matters && rank.faults.empty() && why_.empty()) open(rank);
  threads_ = sampled_threads();
}

std::size_t ThreadSampler::sampled_threads() const {
  std::size_t threads = 0;
  for (const OfRank& rank : ranks_) threads += rank.faults.size();
  return threads;
}

ThreadSampler::Clock::time_point ThreadSampler::next_reading() const {
  return threads_ == 0 ? Clock::time_point::max() : next_;
}

// All threads of a rank have one period, because their faults are compared with each other.
void ThreadSampler::read(OfRank& rank) {
  const std::uint64_t before = rank.sharing.faults();
  for (std::size_t i = 0; i < rank.faults.size(); ++i)
    rank.faults[i].take(
        [&](std::uint64_t address) { rank.sharing.add(static_cast<int>(i), address); });
  const std::uint64_t came = rank.sharing.faults() - before;
  const std::uint64_t most = rank.faults.size() * std::min(kMostOfThread, kMostOfNode / threads_);
  const std::uint64_t period = came > most       ? std::min(rank.period * 2, kLongestPeriod)
                               : came * 4 < most ? std::max<std::uint64_t>(rank.period / 2, 1)
                                                 : rank.period;
  if (period == rank.period) return;
  rank.period = period;
  for (PageFaults& faults : rank.faults) faults.sample_every(period);
}

void ThreadSampler::read(Clock::time_point now) {
  if (threads_ == 0 || now < next_) return;
  next_ = now + kReadEvery;
  const bool ages = now >= age_at_;
  if (ages) age_at_ = now + kAgeEvery;
  for (OfRank& rank : ranks_) {
    if (rank.faults.empty()) continue;
    read(rank);
    if (ages) rank.sharing.age();
  }
}

std::vector<CpuSet> ThreadSampler::better_seats(LocalRank local, const CostModel& model,
                                                const Machine& machine,
                                                std::span<const CpuSet> seats) {
  OfRank& rank = ranks_[local];
  if (rank.faults.size() != seats.size()) return {};
  SharingSeats better = exchange_seats(model, machine, seats, rank.sharing.pairs());
  rank.found = better.found;
  return std::move(better.cpus);
}

void ThreadSampler::fill(LocalRank local, ReportRank& line) const {
  const OfRank& rank = ranks_[local];
  line.thread_faults = rank.sharing.faults();
  std::vector<MatrixEntry> pairs = rank.sharing.pairs().entries;
  std::stable_sort(pairs.begin(), pairs.end(), [](const MatrixEntry& a, const MatrixEntry& b) {
    return a.messages > b.messages;
  });
  pairs.resize(std::min(pairs.size(), kMostPairs));
  for (const MatrixEntry& pair : pairs)
    line.thread_sharing.push_back({pair.src, pair.dst, pair.messages});
}

std::vector<std::string> ThreadSampler::notes(const Ranks& ranks) const {
  std::vector<std::string> notes;
  if (!why_.empty())
    notes.push_back(fmt::format(
        "threads=sample: page faults{} are not sampled: {}; threads are arranged as with "
        "threads=cores",
        threads_ > 0 ? " of some ranks" : "", why_));
  if (!why_.empty() && threads_ == 0) return notes;
  const auto add = [&](const char* text, auto condition) {
    RankList those;
    for (const LocalRank rank : ranks_.ids())
      if (!ranks_[rank].threads.empty() && condition(ranks_[rank])) those.add(ranks.at(rank).world);
    if (!those.empty())
      notes.push_back(fmt::format("threads=sample: ranks {}: {}", those.to_list(), text));
  };
  add("threads that share pages were seated next to each other",
      [](const OfRank& rank) { return rank.exchanged; });
  for (const ExchangeText& row : kExchangeTexts)
    add(row.text, [&](const OfRank& rank) { return !rank.exchanged && rank.found == row.found; });
  return notes;
}

}  // namespace ondeloc
