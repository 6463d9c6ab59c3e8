// SPDX-License-Identifier: Apache-2.0
#include "mapcore/measure/memory_rate.h"

#include <sys/mman.h>

#include <algorithm>
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

constexpr std::size_t kPiece = 1U << 20;  // bytes between two looks at the clock

struct Common {
  std::atomic<bool> failed{false};
  std::atomic<bool> is_late{false};
  std::atomic<std::uint64_t> sink{0};
};

// Memory of its own for one reader.
class Buffer {
 public:
  explicit Buffer(std::size_t bytes)
      : bytes_(bytes),
        data_(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) {}
  ~Buffer() {
    if (data_ != MAP_FAILED) munmap(data_, bytes_);
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // The first touch decides on which node the memory lies.
  void touch_on(PuOs home, const Deadline& deadline, Common& common) const {
    const PinnedHere there(home);
    if (data_ == MAP_FAILED || !there.is_good()) common.failed = true;
    for (std::size_t at = 0; at < bytes_ && !common.failed && !common.is_late; at += kPiece) {
      std::memset(static_cast<char*>(data_) + at, 1, std::min(kPiece, bytes_ - at));
      if (deadline.is_over()) common.is_late = true;
    }
  }

  // Bytes per second of this thread.
  double read_for(double seconds, Common& common) const {
    std::uint64_t sum = 0;
    double read = 0;
    const double begin = now_seconds();
    double now = begin;
    for (std::size_t at = 0; now - begin < seconds; now = now_seconds()) {
      const std::size_t size = std::min(kPiece, bytes_ - at);
      sum += read_all(static_cast<const std::uint64_t*>(data_) + at / sizeof(std::uint64_t),
                      size / sizeof(std::uint64_t));
      read += static_cast<double>(size);
      at = at + size < bytes_ ? at + size : 0;
    }
    common.sink += sum;
    return read / std::max(now - begin, seconds);
  }

 private:
  std::size_t bytes_;
  void* data_;
};

}  // namespace

Result<std::vector<double>> measure_reads(std::span<const Reader> readers, std::size_t bytes,
                                          ReadTime time) {
  const Deadline touched(time.limit - time.seconds);
  std::vector<double> rates(readers.size());
  Common common;
  std::barrier all(static_cast<std::ptrdiff_t>(readers.size()));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < readers.size(); ++i) {
    threads.emplace_back([&, i] {
      const Buffer buffer(bytes);
      buffer.touch_on(readers[i].home, touched, common);
      const PinnedHere here(readers[i].cpu);
      if (!here.is_good()) common.failed = true;
      all.arrive_and_wait();
      if (!common.failed && !common.is_late) rates[i] = buffer.read_for(time.seconds, common);
    });
  }
  for (std::thread& thread : threads) thread.join();
  if (common.failed) return Error("memory ran out, or a thread cannot run on one of the CPUs");
  if (common.is_late) return std::vector<double>();
  return rates;
}

}  // namespace ondeloc
