// SPDX-License-Identifier: Apache-2.0
#include "mapcore/measure/ping_pong.h"

#include <sched.h>

#include <atomic>
#include <cstring>
#include <utility>
#include <vector>

#include "mapcore/measure/pages.h"
#include "mapcore/measure/threads.h"
#include "mapcore/measure/timing.h"

namespace ondeloc {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kBuffer = 1u << 18;  // larger than an L1, smaller than an L2: one message
constexpr int kTrips = 200;                // of the line in one round
constexpr int kSpins = 10000;              // before a yield
constexpr int kCopies = 8;                 // of the buffer in one round

struct Shared {
  alignas(kLine) std::atomic<std::uint32_t> line{0};
  alignas(kLine) std::atomic<bool> stopped{false};
  alignas(kLine) std::atomic<std::uint32_t> filled{0};
  alignas(kLine) std::atomic<std::uint32_t> emptied{0};
};

class Pair {
 public:
  Pair(PuOs sender, PuOs receiver, HomeOf home)
      : receiver_(receiver), sender_(sender), home_(home) {}

  Result<PairResult> run(double seconds) {
    limit_ = Deadline(kPairLimit * seconds);
    if (!pages_.is_good() || !line_pages_.is_good()) return Error("out of memory");
    const PinnedHere pinned(sender_);
    if (!pinned.is_good()) return Error("a thread cannot run on one of the CPUs");
    if (home_ == HomeOf::kSender) touch_all();
    Threads other;
    if (Status started = other.start(1, [this](std::size_t) { answer(); }); !started)
      return std::move(started).error();
    while (!ready_) sched_yield();
    Samples latency, rate;
    const Deadline deadline(seconds);
    while (!failed_ && !deadline.is_over() && !latency.are_stable()) {
      const double line = round_of_line(), copies = failed_ ? 0 : round_of_copies();
      if (failed_) break;
      latency.add(line / (2.0 * kTrips));
      rate.add(kCopies * static_cast<double>(kBuffer) / copies);
    }
    shared().stopped = true;
    other.join();
    if (!can_pin_) return Error("a thread cannot run on one of the CPUs");
    if (latency.empty())
      return Error("the two CPUs do not answer each other; the node is too busy");
    return PairResult{{latency.median(), rate.median()}, latency.spread(), latency.are_stable()};
  }

 private:
  // Waits for the other thread, and now and then lets it run: both may share one CPU's time.
  template <typename Done>
  void wait_until(Done done) {
    for (int turn = 0; !done() && !failed_.load(std::memory_order_relaxed); ++turn) {
      if (turn < kSpins) continue;
      sched_yield();
      turn = 0;
      if (limit_.is_over()) failed_ = true;
    }
  }

  Shared& shared() { return *reinterpret_cast<Shared*>(line_pages_.data()); }
  void touch_all() {
    std::memset(line_pages_.data(), 1, line_pages_.size());
    new (line_pages_.data()) Shared;
    std::memset(pages_.data(), 1, pages_.size());
  }

  double round_of_line() {
    const double begin = now_seconds();
    for (int trip = 0; trip < kTrips && !failed_; ++trip) {
      const std::uint32_t next = shared().line.load(std::memory_order_relaxed) + 1;
      shared().line.store(next, std::memory_order_release);
      wait_until(
          [&] { return shared().line.load(std::memory_order_acquire) != next || failed_.load(); });
    }
    return now_seconds() - begin;
  }

  // The sender writes the buffer, the receiver copies it away: what a message of this size does.
  double round_of_copies() {
    double seconds = 0;
    for (int copy = 0; copy < kCopies && !failed_; ++copy) {
      std::memset(pages_.data(), copy, kBuffer);
      const double begin = now_seconds();
      const std::uint32_t next = shared().filled.load(std::memory_order_relaxed) + 1;
      shared().filled.store(next, std::memory_order_release);
      wait_until([&] { return shared().emptied.load(std::memory_order_acquire) == next; });
      seconds += now_seconds() - begin;
    }
    return seconds;
  }

  void answer() {
    const PinnedHere pinned(receiver_);
    if (!pinned.is_good()) can_pin_ = false, failed_ = true;
    if (home_ == HomeOf::kReceiver) touch_all();
    std::vector<char> own(kBuffer, 1);
    int idle = 0;  // not a member: the sender polls members, and this thread writes it all the time
    ready_ = true;
    while (!shared().stopped.load(std::memory_order_relaxed)) {
      const std::uint32_t line = shared().line.load(std::memory_order_acquire);
      if (line % 2 == 1) shared().line.store(line + 1, std::memory_order_release);
      const std::uint32_t filled = shared().filled.load(std::memory_order_acquire);
      if (filled == shared().emptied.load(std::memory_order_relaxed)) {
        if (++idle > kSpins) sched_yield(), idle = 0;
        continue;
      }
      std::memcpy(own.data(), pages_.data(), kBuffer);
      shared().emptied.store(filled, std::memory_order_release);
    }
  }

  Pages pages_{kBuffer}, line_pages_{4096};
  PuOs receiver_, sender_;
  HomeOf home_;
  Deadline limit_{0};
  std::atomic<bool> ready_{false}, failed_{false}, can_pin_{true};
};

}  // namespace

Result<PairResult> measure_pair(PuOs sender, PuOs receiver, HomeOf home, double seconds) {
  return Pair(sender, receiver, home).run(seconds);
}

}  // namespace ondeloc
