// SPDX-License-Identifier: Apache-2.0
#include "mapcore/measure/memory_rate.h"

#include <sys/mman.h>

#include <atomic>
#include <barrier>
#include <cstring>
#include <thread>

#include "mapcore/measure/timing.h"

namespace ondeloc {
namespace {

// Adds up a buffer; the sum is given back so that no compiler leaves the reads out.
std::uint64_t read_all(const std::uint64_t* words, std::size_t count) {
  std::uint64_t a = 0, b = 0, c = 0, d = 0;
  for (std::size_t i = 0; i + 3 < count; i += 4)
    a += words[i], b += words[i + 1], c += words[i + 2], d += words[i + 3];
  return a + b + c + d;
}

struct Common {
  std::atomic<bool> failed{false};
  std::atomic<std::uint64_t> sink{0};
};

void* touched_on(PuOs home, std::size_t bytes) {
  const PinnedHere there(home);
  if (!there.is_good()) return nullptr;
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) return nullptr;
  std::memset(data, 1, bytes);
  return data;
}

double rate_of(const void* data, std::size_t bytes, double seconds, Common& common) {
  std::uint64_t sum = 0;
  double read = 0;
  const double begin = now_seconds();
  double now = begin;
  for (; now - begin < seconds; now = now_seconds()) {
    sum += read_all(static_cast<const std::uint64_t*>(data), bytes / sizeof(std::uint64_t));
    read += static_cast<double>(bytes);
  }
  common.sink += sum;
  return read / (now - begin);
}

}  // namespace

Result<std::vector<double>> measure_reads(std::span<const Reader> readers, std::size_t bytes,
                                          double seconds) {
  std::vector<double> rates(readers.size());
  Common common;
  std::barrier all(static_cast<std::ptrdiff_t>(readers.size()));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    threads.emplace_back([&, i] {
      void* data = touched_on(readers[i].home, bytes);
      const PinnedHere here(readers[i].cpu);
      if (data == nullptr || !here.is_good()) common.failed = true;
      all.arrive_and_wait();
      if (!common.failed) rates[i] = rate_of(data, bytes, seconds, common);
      if (data != nullptr) munmap(data, bytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (common.failed) return Error("memory ran out, or a thread cannot run on one of the CPUs");
  return rates;
}

}  // namespace ondeloc
