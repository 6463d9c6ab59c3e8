// SPDX-License-Identifier: Apache-2.0
// The mechanism with counters that every kernel has (page faults), on real processes and threads.
#include "mapcore/recorder/memory_counters.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "mapcore/binding/proc.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

constexpr CounterKind kFaults{"page-faults", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS}};
constexpr CounterKind kMinor{"minor-faults", {PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS_MIN}};
constexpr CounterKind kNone{"no-such-counter", {PERF_TYPE_SOFTWARE, 4711}};
constexpr std::size_t kPages = 500;

void touch_pages() {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  void* memory =
      mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  madvise(memory, kPages * page, MADV_NOHUGEPAGE);
  for (std::size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  munmap(memory, kPages * page);
}

// A process that waits for a byte, touches memory in a thread that was there before, in one that it
// starts then and in itself, and ends.
struct Toucher {
  int go[2];
  pid_t pid;
  Toucher() {
    if (pipe(go) != 0) abort();
    pid = fork();
    if (pid != 0) return;
    int inner[2];
    if (pipe(inner) != 0) _exit(1);
    char byte;
    std::thread early([&] {
      char there;
      if (read(inner[0], &there, 1) == 1) touch_pages();
    });
    if (read(go[0], &byte, 1) != 1 || write(inner[1], &byte, 1) != 1) _exit(1);
    std::thread late(touch_pages);
    touch_pages();
    early.join();
    late.join();
    _exit(0);
  }
  void run_to_end() const {
    REQUIRE(write(go[1], "g", 1) == 1);
    REQUIRE(waitpid(pid, nullptr, 0) == pid);
  }
  ~Toucher() {
    close(go[0]);
    close(go[1]);
  }
};

void wait_for_threads(pid_t pid, std::size_t count) {
  while (read_threads(pid).size() < count) usleep(1000);
}
}  // namespace

TEST_CASE("all threads of every rank are counted, also after the rank has ended") {
  MemoryCounters counters({{kNone, kFaults}, {kNone, kMinor}, {kMinor}});
  const Toucher one, two;
  for (const Toucher* rank : {&one, &two}) wait_for_threads(rank->pid, 2);
  counters.start(4, one.pid);
  counters.start(7, two.pid);
  one.run_to_end();
  const auto volumes = counters.read();
  REQUIRE(volumes.size() == 2);
  CHECK(volumes[0].rank == 4);
  CHECK(volumes[1].rank == 7);
  CHECK(volumes[0].dram_known);
  // Faults are counted twice in accesses: page-faults and minor-faults.
  const std::uint64_t least = 3 * kPages * MemoryCounters::kBytesPerAccess;
  CHECK(volumes[0].dram >= least);
  CHECK(volumes[0].accessed >= 2 * least);
  CHECK((kThreadSanitizer || volumes[0].dram < 2 * least));
  CHECK(volumes[1].dram < least);  // has not touched its pages yet
  two.run_to_end();
  CHECK(counters.read()[1].dram >= least);
  REQUIRE(counters.notes().size() == 1);
  CHECK(counters.notes()[0] ==
        "memory volumes: 8 bytes for each of page-faults, minor-faults; DRAM: minor-faults");
}

TEST_CASE("without a counter there are no volumes and the note says why") {
  MemoryCounters counters({{kNone}, {kFaults}, {kFaults}});
  counters.start(0, getpid());
  counters.start(1, getpid());
  CHECK(counters.read().empty());
  REQUIRE(counters.notes().size() == 1);
  CHECK(counters.notes()[0].find("this machine has no counter of memory accesses") !=
        std::string::npos);
}

TEST_CASE("no counter of DRAM leaves DramV unknown, not zero") {
  MemoryCounters counters({{kFaults}, {}, {kNone}});
  counters.start(0, getpid());
  touch_pages();
  REQUIRE(counters.read().size() == 1);
  CHECK_FALSE(counters.read()[0].dram_known);
  CHECK(counters.read()[0].accessed > 0);
}

TEST_CASE("a process that has ended is not counted") {
  MemoryCounters counters({{kFaults}, {}, {}});
  const pid_t pid = fork();
  if (pid == 0) _exit(0);
  REQUIRE(waitpid(pid, nullptr, 0) == pid);
  counters.start(0, pid);
  CHECK(counters.read().empty());
}
