// SPDX-License-Identifier: Apache-2.0
// The key "counters": real perf events that every kernel has, on real processes, in place of events
// that this machine may lack. A kernel that lets no user count is told apart from a failure.
#include "mapcore/mapper/perf_counters.h"

#include <linux/perf_event.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "mapcore/binding/proc.h"
#include "tests/unit/catch.h"
#include "tests/unit/step/waiting_ranks.h"
#include "tests/unit/temp_dir.h"

using namespace ondeloc;

namespace {

using Masks = std::vector<std::vector<std::uint64_t>>;  // of the CPUs of each rank

constexpr PerfKind kNoSuchEvent{PERF_TYPE_SOFTWARE, 4711};
constexpr PerfKind kTaskClock{PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK};
constexpr const char* kRefused = "the kernel does not let users count";

// A tree of /sys with a memory controller, whose type is that of the kernel's software events.
struct ControllerTree {
  TempDir dir;
  std::string pmu;
  explicit ControllerTree(const std::string& name = "uncore_imc_0")
      : pmu("sys/bus/event_source/devices/" + name + "/") {
    put("type", std::to_string(PERF_TYPE_SOFTWARE));
    put("cpumask", "0");
    put("format/event", "config:0-7");
    put("format/umask", "config:8-15");
    put_event("cas_count_read", "event=0x00,umask=0x00");  // the clock of the CPU, nanoseconds
    put_event("cas_count_write", "event=0x02");            // page faults on it
  }
  void put(const std::string& name, const std::string& text) const {
    write_in_folders(dir.file(pmu + name), text + "\n");
  }
  void put_event(const std::string& name, const std::string& event) const {
    put("events/" + name, event);
    put("events/" + name + ".scale", "0.00006103515625");  // 64 bytes
    put("events/" + name + ".unit", "MiB");
  }
  ReportCounters count() const {
    const ControllerBytes controllers(dir.path());
    const timespec pause{0, 20'000'000};
    nanosleep(&pause, nullptr);
    ReportCounters counters;
    controllers.fill(counters);
    return counters;
  }
};

ReportCounters misses_of(const Ranks& ranks, PerfKind kind) {
  RankMisses misses(kind);
  misses.look(ranks);
  misses.look(ranks);  // counts no rank twice
  ReportCounters counters;
  misses.fill(counters);
  return counters;
}

}  // namespace

TEST_CASE("ranks are counted, or a sentence says why not") {
  const WaitingRanks processes(Masks{{1}, {1}});
  Ranks ranks(2);
  ranks.refresh(processes.view());
  const ReportCounters counted = misses_of(ranks, kTaskClock);
  CAPTURE(counted.why_no_misses);
  CHECK(counted.cache_misses.has_value() == counted.why_no_misses.empty());
  if (counted.cache_misses)
    CHECK(*counted.cache_misses >= 0);
  else
    CHECK(counted.why_no_misses.find(kRefused) == 0);
}

TEST_CASE("an event that the machine lacks, and no rank at all, have their sentences") {
  const WaitingRanks processes(Masks{{1}});
  Ranks ranks(1);
  CHECK(misses_of(ranks, kTaskClock).why_no_misses == "no rank was counted");
  ranks.refresh(processes.view());
  const ReportCounters counted = misses_of(ranks, kNoSuchEvent);
  CHECK_FALSE(counted.cache_misses);
  const bool told =
      counted.why_no_misses.find("this machine has no counter of cache misses") == 0 ||
      counted.why_no_misses.find(kRefused) == 0;
  CHECK(told);
}

TEST_CASE("without descriptors for all threads the counters are closed, and no sum is told",
          "[perf]") {
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd");
    return std::distance(begin(files), end(files));
  };
  constexpr int kThreads = 60;
  const WaitingRanks one(Masks{{1}}), many(Masks{{1}}, 0, [] {
    for (int more = 1; more < kThreads; ++more) std::thread(WaitingRanks::wait_for_end).detach();
    WaitingRanks::wait_for_end();
  });
  Ranks few_threads(1), many_threads(1);
  few_threads.refresh(one.view());
  many_threads.refresh(many.view());
  if (!misses_of(few_threads, kTaskClock).cache_misses) ONDELOC_SKIP("needs perf events");
  while (read_threads(many.pid(0)).size() < kThreads) usleep(1000);
  const auto before = open_files();
  rlimit usual{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &usual) == 0);
  const rlimit tight{40, usual.rlim_max};
  RankMisses misses(kTaskClock);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &tight) == 0);
  misses.look(many_threads);
  REQUIRE(setrlimit(RLIMIT_NOFILE, &usual) == 0);
  CHECK(open_files() == before);
  misses.look(few_threads);
  ReportCounters counters;
  misses.fill(counters);
  CHECK_FALSE(counters.cache_misses);
  CHECK(counters.why_no_misses == "the limit of open files (ulimit -Hn) is too low");
}

TEST_CASE("the events of a memory controller are read as /sys describes them") {
  const ControllerTree tree;
  const ReportCounters counted = tree.count();
  CAPTURE(counted.why_no_bytes);
  REQUIRE(counted.read_bytes.has_value() == counted.why_no_bytes.empty());
  if (!counted.read_bytes) {
    CHECK(counted.why_no_bytes.find(kRefused) == 0);
    return;
  }
  CHECK(*counted.read_bytes >= 64 * 10e6);  // of 20 ms of the clock
  CHECK(*counted.written_bytes >= 0);
  CHECK(*counted.written_bytes < *counted.read_bytes);
}

TEST_CASE("a controller with other units, other formats or another name is not counted") {
  const auto why = [](const char* file, const char* text) {
    const ControllerTree tree;
    for (const std::string event : {"cas_count_read", "cas_count_write"})
      tree.put(std::string(file).replace(0, 1, "events/" + event), text);
    return tree.count().why_no_bytes;
  };
  const std::string none = "/sys/bus/event_source/devices has no memory controller (uncore_imc*)";
  for (const auto& [file, text] : {std::pair("*.unit", "Joules"),
                                   {"*.scale", "-1"},
                                   {"*.scale", "x"},
                                   {"*", "event=0xzz"},
                                   {"*", "event"},
                                   {"*", "ghost=0x01"},
                                   {"*", ""},
                                   {"*", "event=0x1ffffffffffffffff"}}) {
    CAPTURE(file, text);
    CHECK(why(file, text) == none);
  }
  CHECK(ControllerTree("cpu").count().why_no_bytes == none);
}

TEST_CASE("nothing is counted for a user who did not ask") {
  const WaitingRanks processes(Masks{{1}});
  Ranks ranks(1);
  ranks.refresh(processes.view());
  PerfCounters counters(false, "");
  counters.look(ranks);
  const ReportCounters counted = counters.since_start();
  CHECK_FALSE(counted.cache_misses);
  CHECK(counted.why_no_misses.empty());
  CHECK(counted.why_no_bytes.empty());
}
