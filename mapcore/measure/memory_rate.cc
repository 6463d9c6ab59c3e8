// SPDX-License-Identifier: Apache-2.0
#include "mapcore/measure/memory_rate.h"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <cstring>
#include <utility>

#include "mapcore/measure/pages.h"
#include "mapcore/measure/threads.h"
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

constexpr std::size_t kPiece = 1U << 20;  // bytes between two looks at the clock

struct Common {
  std::atomic<bool> failed{false};
  std::atomic<bool> is_late{false};
  std::atomic<std::uint64_t> sink{0};
};

// The first touch decides on which node the memory lies.
void touch_on(PuOs home, const Pages& pages, const Deadline& deadline, Common& common) {
  const PinnedHere there(home);
  if (!pages.is_good() || !there.is_good()) common.failed = true;
  for (std::size_t at = 0; at < pages.size() && !common.failed && !common.is_late; at += kPiece) {
    std::memset(pages.data() + at, 1, std::min(kPiece, pages.size() - at));
    if (deadline.is_over()) common.is_late = true;
  }
}

// Bytes per second of this thread.
double read_for(double seconds, const Pages& pages, Common& common) {
  std::uint64_t sum = 0;
  double read = 0;
  const double begin = now_seconds();
  double now = begin;
  for (std::size_t at = 0; now - begin < seconds; now = now_seconds()) {
    const std::size_t size = std::min(kPiece, pages.size() - at);
    sum += read_all(reinterpret_cast<const std::uint64_t*>(pages.data() + at),
                    size / sizeof(std::uint64_t));
    read += static_cast<double>(size);
    at = at + size < pages.size() ? at + size : 0;
  }
  common.sink += sum;
  return read / std::max(now - begin, seconds);
}

}  // namespace

Result<std::vector<double>> measure_reads(std::span<const Reader> readers, std::size_t bytes,
                                          ReadTime time) {
  const Deadline touched(time.limit - time.seconds);
  std::vector<double> rates(readers.size());
  Common common;
  std::barrier all(static_cast<std::ptrdiff_t>(readers.size()));
  Threads threads;
  Status started = threads.start(readers.size(), [&](std::size_t i) {
    const Pages pages(bytes);
    touch_on(readers[i].home, pages, touched, common);
    const PinnedHere here(readers[i].cpu);
    if (!here.is_good()) common.failed = true;
    all.arrive_and_wait();
    if (!common.failed && !common.is_late) rates[i] = read_for(time.seconds, pages, common);
  });
  if (!started) return std::move(started).error();
  threads.join();
  if (common.failed) return Error("memory ran out, or a thread cannot run on one of the CPUs");
  if (common.is_late) return std::vector<double>();
  return rates;
}

}  // namespace ondeloc
