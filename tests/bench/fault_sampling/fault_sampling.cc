// SPDX-License-Identifier: Apache-2.0
// The price of threads=sample for each page fault.
//   fault_sampling [ROUNDS]
// A thread faults on 512 pages that were given back to the kernel before each round (madvise(2),
// MADV_DONTNEED). Rounds without samples, with each fault sampled, and with one of 64 sampled take
// turns. Prints the time of the median round per fault for each, and the time in which the mapper's
// code reads a sample from the ring and counts it. Then the time of a switch between two threads on
// one CPU without the event and with the event of both, in turns too. The faults are those of a
// first touch, which has the kernel clear a page; perf's part of a NUMA hinting fault is the same.
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>
#include <vector>

#include "mapcore/map/page_sharing.h"
#include "mapcore/step/page_faults.h"

namespace {

using namespace ondeloc;
using Clock = std::chrono::steady_clock;
constexpr std::size_t kPages = 512;

double nanoseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<long>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

// Nanoseconds per fault of one round.
double touch(char* memory, std::size_t page) {
  madvise(memory, kPages * page, MADV_DONTNEED);
  const auto begin = Clock::now();
  for (std::size_t i = 0; i < kPages; ++i) static_cast<volatile char*>(memory)[i * page] = 1;
  return nanoseconds_since(begin) / static_cast<double>(kPages);
}

// The sampling of one kind of round, and the results of these rounds.
struct Kind {
  const char* name;
  std::uint64_t period;  // 0: no samples
  std::vector<double> faults, reading;
};

void run_round(Kind& kind, char* memory, std::size_t page, PageSharing& sharing) {
  std::optional<PageFaults> faults;
  if (kind.period > 0) {
    auto opened = PageFaults::of_thread(gettid());
    if (!opened) {
      std::printf("%s\n", opened.error().message().c_str());
      std::exit(0);
    }
    faults = *std::move(opened);
    faults->sample_every(kind.period);
  }
  kind.faults.push_back(touch(memory, page));
  if (!faults) return;
  const std::uint64_t before = sharing.faults();
  const auto begin = Clock::now();
  faults->take([&](std::uint64_t address) { sharing.add(0, address); });
  const double samples = static_cast<double>(sharing.faults() - before);
  if (samples > 0) kind.reading.push_back(nanoseconds_since(begin) / samples);
}

// Nanoseconds for each switch between two threads that wake each other on one CPU.
double switch_time(bool sampled) {
  int there[2], back[2];
  if (pipe(there) != 0 || pipe(back) != 0) std::exit(1);
  constexpr int kTurns = 2000;
  char byte = 0;
  std::atomic<pid_t> other{0};
  std::thread answers([&] {
    other = gettid();
    char got = 0;
    for (int i = 0; i < kTurns; ++i)
      if (read(there[0], &got, 1) != 1 || write(back[1], &got, 1) != 1) std::exit(1);
  });
  while (other == 0) std::this_thread::yield();
  std::vector<PageFaults> events;
  for (const pid_t thread : {gettid(), other.load()}) {
    auto event = PageFaults::of_thread(thread);
    if (event && sampled) events.push_back(*std::move(event));
  }
  const auto begin = Clock::now();
  for (int i = 0; i < kTurns; ++i)
    if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) std::exit(1);
  const double time = nanoseconds_since(begin) / (2 * kTurns);
  answers.join();
  for (const int end : {there[0], there[1], back[0], back[1]}) close(end);
  return time;
}

void stay_on_this_cpu() {
  cpu_set_t cpu;
  CPU_ZERO(&cpu);
  CPU_SET(static_cast<std::size_t>(sched_getcpu()), &cpu);
  sched_setaffinity(0, sizeof(cpu), &cpu);
}

void time_switches(int rounds) {
  stay_on_this_cpu();
  std::vector<double> without, with;
  for (int round = 0; round < rounds; ++round) {
    without.push_back(switch_time(false));
    with.push_back(switch_time(true));
  }
  const double plain = median(without), sampled = median(with);
  std::printf("switch of threads  %6.0f ns, with the event %.0f ns, %.3f times\n", plain, sampled,
              sampled / plain);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 300;
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* const memory = static_cast<char*>(
      mmap(nullptr, kPages * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED || rounds < 1) return 1;
  madvise(memory, kPages * page, MADV_NOHUGEPAGE);
  Kind kinds[] = {{"not sampled", 0, {}, {}},
                  {"each one sampled", 1, {}, {}},
                  {"one of 64 sampled", 64, {}, {}}};
  PageSharing sharing(1);
  for (int round = 0; round < rounds; ++round)
    for (Kind& kind : kinds) run_round(kind, memory, page, sharing);
  const double plain = median(kinds[0].faults);
  for (const Kind& kind : kinds) {
    const double fault = median(kind.faults);
    std::printf("%-18s %6.0f ns per fault, %.3f times\n", kind.name, fault, fault / plain);
  }
  std::printf("mapper: %.0f ns per sample\n", median(kinds[1].reading));
  time_switches(std::max(1, rounds / 10));
  return 0;
}
