// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/perf_counters.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/resource.h>

#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/text.h"
#include "mapcore/binding/proc.h"
#include "mapcore/devices/sysfs.h"

namespace ondeloc {
namespace {

constexpr const char* kPmus = "/sys/bus/event_source/devices";
// Intel's integrated memory controllers. Other makers' PMUs count other units.
constexpr std::string_view kController = "uncore_imc";
constexpr std::size_t kMostThreads = 4096;  // a descriptor each
constexpr const char* kCounter = "counter of cache misses";

struct ControllerEvent {
  const char* name;
  bool writes;
};
constexpr ControllerEvent kControllerEvents[] = {{"cas_count_read", false},
                                                 {"cas_count_write", true}};

// "0x04".
std::optional<std::uint64_t> hexadecimal(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (fault != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "event=0x04,umask=0x03" with format/event "config:0-7" and format/umask "config:8-15".
std::optional<std::uint64_t> config_of(const Sysfs& files, const std::string& pmu,
                                       std::string_view event) {
  std::uint64_t config = 0;
  for (const std::string_view term : split(event, ',')) {
    const std::size_t equals = term.find('=');
    if (equals == term.npos) return std::nullopt;
    const std::string place =
        files.read(fmt::format("{}/format/{}", pmu, std::string(term.substr(0, equals))));
    constexpr std::string_view kWord = "config:";
    if (!std::string_view(place).starts_with(kWord)) return std::nullopt;
    const auto first = parse_unsigned(
        std::string_view(place).substr(kWord.size(), place.find('-') - kWord.size()), 63);
    const auto value = hexadecimal(term.substr(equals + 1));
    if (!first || !value) return std::nullopt;
    config |= *value << *first;
  }
  return config;
}

// Bytes of one count, as NAME.scale and NAME.unit say; 0: another unit, or none.
double bytes_of(const Sysfs& files, const std::string& event) {
  const auto scale = parse_double(files.read(event + ".scale"));
  if (!scale || *scale <= 0 || files.read(event + ".unit") != "MiB") return 0;
  return *scale * 1024 * 1024;
}

// cpumask has a CPU of each package, such as "0,28".
std::vector<PuOs> cpus_of(const std::string& list) {
  const auto cpus = CpuSet::parse_list(list);
  return cpus ? cpus->to_vector() : std::vector<PuOs>();
}

// The mapper needs descriptors for other things too, so the counters take half of them.
rlim_t most_descriptors() {
  rlimit limit{};
  return getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : RLIM_INFINITY;
}

}  // namespace

PerfKind cache_miss_event() { return {PERF_TYPE_HARDWARE, PERF_COUNT_HW_CACHE_MISSES}; }

void RankMisses::give_up(std::string why) {
  why_ = std::move(why);
  gave_up_ = true;
  events_.clear();
}

void RankMisses::count(pid_t process) {
  const rlim_t most = most_descriptors();
  for (const pid_t thread : read_threads(process)) {
    if (events_.size() >= kMostThreads)
      return give_up(fmt::format("the ranks have more than {} threads", kMostThreads));
    if (events_.size() >= most) return give_up(why_no_perf(EMFILE, kCounter));
    auto event = PerfEvent::of_thread(kind_, thread);
    if (event) {
      why_.clear();
      events_.push_back(*std::move(event));
    } else if (event.error().code() != ESRCH) {  // the thread has ended
      return give_up(why_no_perf(event.error().code(), kCounter));
    }
  }
}

void RankMisses::look(const Ranks& ranks) {
  for (const RankState& rank : ranks.all())
    if (!gave_up_ && rank.attached() && !rank.ended && seen_.insert(rank.process).second)
      count(rank.process);
}

void RankMisses::fill(ReportCounters& counters) const {
  counters.why_no_misses = why_;
  double sum = 0;
  for (const PerfEvent& event : events_) {
    const auto count = event.read();
    if (!count) counters.why_no_misses = "the kernel did not let the counters run";
    sum += count.value_or(0);
  }
  if (counters.why_no_misses.empty()) counters.cache_misses = sum;
}

ControllerBytes::ControllerBytes(const std::string& root) {
  const Sysfs files(root);
  for (const std::string& name : files.list(kPmus)) {
    if (!name.starts_with(kController)) continue;
    const std::string pmu = fmt::format("{}/{}", kPmus, name);
    const auto type = files.read_number(pmu + "/type");
    for (const ControllerEvent& known : kControllerEvents) {
      const std::string event = fmt::format("{}/events/{}", pmu, known.name);
      const double bytes = bytes_of(files, event);
      const auto config = config_of(files, pmu, files.read(event));
      if (!type || *type < 0 || !config || bytes <= 0) continue;  // free-running ones count else
      for (const PuOs cpu : cpus_of(files.read(pmu + "/cpumask"))) {
        auto opened = PerfEvent::of_cpu({static_cast<std::uint32_t>(*type), *config}, cpu.value);
        if (!opened) {
          why_ = why_no_perf(opened.error().code(), "counter of memory controllers");
          return;
        }
        counters_.push_back({*std::move(opened), bytes, known.writes});
      }
    }
  }
  if (counters_.empty())
    why_ = fmt::format("{} has no memory controller ({}*)", kPmus, kController);
}

void ControllerBytes::fill(ReportCounters& counters) const {
  counters.why_no_bytes = why_;
  double read = 0, written = 0;
  for (const Counter& counter : counters_) {
    const auto count = counter.event.read();
    if (!count) counters.why_no_bytes = "the kernel did not let the counters run";
    (counter.writes ? written : read) += count.value_or(0) * counter.bytes;
  }
  if (!counters.why_no_bytes.empty()) return;
  counters.read_bytes = read;
  counters.written_bytes = written;
}

PerfCounters::PerfCounters(bool wanted, const std::string& root) : wanted_(wanted) {
  if (wanted_) controllers_.emplace(root);
}

void PerfCounters::look(const Ranks& ranks) {
  if (wanted_) misses_.look(ranks);
}

ReportCounters PerfCounters::since_start() const {
  ReportCounters counters;
  if (!wanted_) return counters;
  misses_.fill(counters);
  controllers_->fill(counters);
  return counters;
}

}  // namespace ondeloc
