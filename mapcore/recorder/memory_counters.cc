// SPDX-License-Identifier: Apache-2.0
#include "mapcore/recorder/memory_counters.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mapcore/base/text.h"
#include "mapcore/binding/proc.h"

namespace ondeloc {
namespace {

constexpr std::uint64_t cache_event(unsigned cache, unsigned operation, unsigned result) {
  return cache | operation << 8U | result << 16U;
}

// Says why there is no counter: EACCES and EPERM come from the kernel's policy, other errors from
// the hardware.
bool is_refused(int code) { return code == EACCES || code == EPERM; }

UniqueFd open_counter(const CounterKind& kind, pid_t thread) {
  perf_event_attr wanted{};
  wanted.size = sizeof(wanted);
  wanted.type = kind.type;
  wanted.config = kind.config;
  wanted.exclude_kernel = 1;  // kernel.perf_event_paranoid = 2, the kernel's default, asks for it
  wanted.exclude_hv = 1;
  wanted.inherit = 1;
  wanted.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  return UniqueFd(static_cast<int>(
      syscall(SYS_perf_event_open, &wanted, thread, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

// Scales the count up if the counter had to wait for the hardware for a part of the time.
double count_of(const UniqueFd& counter) {
  struct {
    std::uint64_t value, enabled, running;
  } now{};
  if (::read(counter.get(), &now, sizeof(now)) != sizeof(now) || now.running == 0) return 0;
  return static_cast<double>(now.value) * static_cast<double>(now.enabled) /
         static_cast<double>(now.running);
}

double sum_of(const std::vector<UniqueFd>& counters) {
  double sum = 0;
  for (const UniqueFd& counter : counters) sum += count_of(counter);
  return sum;
}

std::uint64_t bytes_of(double accesses) {
  return static_cast<std::uint64_t>(accesses) * MemoryCounters::kBytesPerAccess;
}

std::string why(int code) {
  if (!is_refused(code))
    return fmt::format("this machine has no counter of memory accesses ({})", std::strerror(code));
  const auto policy = read_small_file("/proc/sys/kernel/perf_event_paranoid", 16);
  return fmt::format("the kernel does not let users count (kernel.perf_event_paranoid is {})",
                     policy ? trim_blanks(*policy) : "unknown");
}

// Returns the first kind that the kernel counts for this process; if there is none, errno says why.
std::optional<CounterKind> first_of(const std::vector<CounterKind>& kinds, pid_t process) {
  for (const CounterKind& kind : kinds) {
    if (open_counter(kind, process).valid()) return kind;
  }
  return std::nullopt;
}

}  // namespace

CounterSet hardware_counters() {
  constexpr unsigned kLoad = PERF_COUNT_HW_CACHE_OP_READ, kStore = PERF_COUNT_HW_CACHE_OP_WRITE;
  constexpr unsigned kAccess = PERF_COUNT_HW_CACHE_RESULT_ACCESS;
  constexpr unsigned kMiss = PERF_COUNT_HW_CACHE_RESULT_MISS;
  return {
      {{"L1-dcache-loads", PERF_TYPE_HW_CACHE,
        cache_event(PERF_COUNT_HW_CACHE_L1D, kLoad, kAccess)}},
      {{"L1-dcache-stores", PERF_TYPE_HW_CACHE,
        cache_event(PERF_COUNT_HW_CACHE_L1D, kStore, kAccess)}},
      {{"LLC-load-misses", PERF_TYPE_HW_CACHE, cache_event(PERF_COUNT_HW_CACHE_LL, kLoad, kMiss)},
       {"cache-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES}}};
}

MemoryCounters::MemoryCounters(CounterSet set) : set_(std::move(set)) {}

// All ranks get the kinds of the first rank: volumes from different events must not be added up.
bool MemoryCounters::choose(pid_t process) {
  if (access_kinds_) return !access_kinds_->empty();
  access_kinds_.emplace();
  const auto accesses = first_of(set_.accesses, process);
  if (!accesses) {
    why_not_ = why(errno);
    return false;
  }
  access_kinds_->push_back(*accesses);
  if (const auto more = first_of(set_.more_accesses, process)) access_kinds_->push_back(*more);
  dram_kind_ = first_of(set_.dram, process);
  return true;
}

bool MemoryCounters::open_all(Counted& counted, pid_t thread) {
  for (const CounterKind& kind : *access_kinds_)
    counted.accesses.push_back(open_counter(kind, thread));
  if (dram_kind_) counted.dram.push_back(open_counter(*dram_kind_, thread));
  return counted.accesses.back().valid() && (!dram_kind_ || counted.dram.back().valid());
}

void MemoryCounters::start(std::uint32_t rank, pid_t process) {
  if (!choose(process)) return;
  Counted counted{rank, {}, {}};
  for (const pid_t thread : read_threads(process)) {
    if (open_all(counted, thread) || errno == ESRCH) continue;
    why_not_ = fmt::format("rank {} could not be counted ({})", rank, std::strerror(errno));
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
