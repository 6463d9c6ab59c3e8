// SPDX-License-Identifier: Apache-2.0
#include "mapcore/recorder/memory_counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/perf_event.h>

#include <cerrno>
#include <cstring>

#include "mapcore/binding/proc.h"

namespace ondeloc {
namespace {

constexpr std::uint64_t cache_event(unsigned cache, unsigned operation, unsigned result) {
  return cache | operation << 8U | result << 16U;
}

double sum_of(const std::vector<PerfEvent>& counters) {
  double sum = 0;
  for (const PerfEvent& counter : counters) sum += counter.read().value_or(0);
  return sum;
}

std::uint64_t bytes_of(double accesses) {
  return static_cast<std::uint64_t>(accesses) * MemoryCounters::kBytesPerAccess;
}

// Returns the first kind that the kernel counts for this process, or the errno of the last one.
Result<CounterKind> first_of(const std::vector<CounterKind>& kinds, pid_t process) {
  Error last("no kind", ENOENT);
  for (const CounterKind& kind : kinds) {
    const auto opened = PerfEvent::of_thread(kind.event, process);
    if (opened) return kind;
    last = opened.error();
  }
  return last;
}

}  // namespace

CounterSet hardware_counters() {
  constexpr unsigned kLoad = PERF_COUNT_HW_CACHE_OP_READ, kStore = PERF_COUNT_HW_CACHE_OP_WRITE;
  constexpr unsigned kAccess = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
  constexpr unsigned kMiss = PERF_COUNT_HW_CACHE_RESULT_MISS;
  return {
      {{"L1-dcache-loads",
        {PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_L1D, kLoad, kAccess)}}},
      {{"L1-dcache-stores",
        {PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_L1D, kStore, kAccess)}}},
      {{"LLC-load-misses", {PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_LL, kLoad, kMiss)}},
       {"cache-misses", {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES}}}};
}

MemoryCounters::MemoryCounters(CounterSet set) : set_(std::move(set)) {}

// All ranks get the kinds of the first rank: volumes from different events must not be added up.
bool MemoryCounters::choose(pid_t process) {
  if (access_kinds_) return !access_kinds_->empty();
  access_kinds_.emplace();
  const auto accesses = first_of(set_.accesses, process);
  if (!accesses) {
    why_not_ = why_no_perf(accesses.error().code(), "counter of memory accesses");
    return false;
  }
  access_kinds_->push_back(*accesses);
  if (const auto more = first_of(set_.more_accesses, process)) access_kinds_->push_back(*more);
  if (const auto dram = first_of(set_.dram, process)) dram_kind_ = *dram;
  return true;
}

Status MemoryCounters::open_all(Counted& counted, pid_t thread) {
  const auto open = [&](const CounterKind& kind, std::vector<PerfEvent>& events) -> Status {
    auto event = PerfEvent::of_thread(kind.event, thread);
    if (!event) return std::move(event).error();
    events.push_back(*std::move(event));
    return {};
  };
  for (const CounterKind& kind : *access_kinds_)
    if (Status good = open(kind, counted.accesses); !good) return good;
  return dram_kind_ ? open(*dram_kind_, counted.dram) : Status();
}

void MemoryCounters::start(std::uint32_t rank, pid_t process) {
  if (!choose(process)) return;
  Counted counted{rank, {}, {}};
  for (const pid_t thread : read_threads(process)) {
    const Status opened = open_all(counted, thread);
    if (opened || opened.error().code() == ESRCH) continue;
    why_not_ = fmt::format("rank {} could not be counted ({})", rank,
                           std::strerror(opened.error().code()));
    return;
  }
  counted_.push_back(std::move(counted));
}

std::vector<RankMemory> MemoryCounters::read() const {
  std::vector<RankMemory> volumes;
  for (const Counted& counted : counted_)
    volumes.push_back({counted.rank, bytes_of(sum_of(counted.accesses)), dram_kind_.has_value(),
                       bytes_of(sum_of(counted.dram))});
  return volumes;
}

std::vector<std::string> MemoryCounters::notes() const {
  std::vector<std::string> notes;
  if (!why_not_.empty()) notes.push_back("memory volumes: " + why_not_);
  if (counted_.empty()) return notes;
  std::vector<std::string_view> names;
  for (const CounterKind& kind : *access_kinds_) names.push_back(kind.name);
  notes.push_back(fmt::format("memory volumes: {} bytes for each of {}; DRAM: {}", kBytesPerAccess,
                              fmt::join(names, ", "),
                              dram_kind_ ? dram_kind_->name : "no counter"));
  return notes;
}

}  // namespace ondeloc
