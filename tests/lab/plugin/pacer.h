// SPDX-License-Identifier: MIT
// The clock of each vCPU, and what keeps them together: none may run further ahead of the slowest
// one that is not idle than the window. QEMU's translated code adds to a vCPU's counter; its time
// is a base plus that counter.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>

#include "tests/lab/plugin/counters.h"

namespace numalab {

struct Pacing {
  std::uint64_t quantum_ps = 500'000;   // a vCPU looks at the others that often
  std::uint64_t window_ps = 1'000'000;  // how far one may be ahead
  unsigned patience_us = 10'000;  // of the host; then a vCPU goes on by a block: the one behind may
                                  // need it inside QEMU
};

class Pacer {
 public:
  Pacer(int vcpus, const Pacing& pacing);

  void bind(int vcpu, std::uint64_t* counter) { at(vcpu).counter = counter; }
  Counters& counters(int vcpu) { return at(vcpu).counters; }
  const Counters& counters(int vcpu) const { return at(vcpu).counters; }
  bool idle(int vcpu) const { return at(vcpu).idle; }
  // The time that the vCPU has run since the last look.
  std::uint64_t unpublished(int vcpu) const { return *at(vcpu).counter - at(vcpu).counted; }
  bool running() const { return running_; }

  // Starts simulated time at `now_ps`. stop() passes a time that no guest clock has passed to
  // `go_on`, and ends simulated time after that: no clock is to be read in between.
  void start(std::uint64_t now_ps);
  void stop(const std::function<void(std::uint64_t)>& go_on);

  // Called by the thread of that vCPU.
  std::uint64_t now(int vcpu) const { return at(vcpu).base + *at(vcpu).counter; }
  void add(int vcpu, std::uint64_t ps) { *at(vcpu).counter += ps; }
  // Others see it at once: were an earlier, later time left in place, they would run ahead of it,
  // be put back themselves, and the distance would grow with each message.
  void set(int vcpu, std::uint64_t ps) {
    at(vcpu).base = ps - *at(vcpu).counter;
    at(vcpu).published = ps;
  }
  void synchronize(int vcpu);  // once a quantum
  // At `ps` a line was written that this vCPU polls: it is to look at once, and the others are to
  // keep to the time at which it will see the line. Else they would run on to where it waits, each
  // time a window further. Called by any thread.
  void poke(int vcpu, std::uint64_t ps);
  void went_idle(int vcpu);
  void resumed(int vcpu);
  // The time that the guest's clock shows. It never goes back, though set() may put a vCPU back.
  std::uint64_t clock(int vcpu);

  std::uint64_t slowest_or_present() const;  // of the vCPUs that run, else the present
  std::uint64_t present() const { return present_; }
  bool all_idle() const { return slowest() == kNobody; }
  // For the time when every vCPU sleeps: time goes on to the next timer.
  void advance_idle(std::uint64_t ps);
  void follow();  // brings the present up to the slowest vCPU

 private:
  static constexpr std::uint64_t kNobody = ~std::uint64_t{0};
  struct alignas(128) Vcpu {
    std::uint64_t base = 0;
    std::uint64_t unbound = 0;
    std::uint64_t* counter = &unbound;
    std::uint64_t counted = 0;  // part of the counter that was in the base before
    std::uint64_t shown = 0;
    std::atomic<std::uint64_t> published{0};
    std::atomic<bool> idle{true};
    std::atomic<bool> waiting{false};
    bool poked = false;
    std::condition_variable wake;
    Counters counters;
  };
  Vcpu& at(int vcpu) { return vcpus_[static_cast<std::size_t>(vcpu)]; }
  const Vcpu& at(int vcpu) const { return vcpus_[static_cast<std::size_t>(vcpu)]; }
  void publish(int vcpu);
  std::uint64_t slowest() const;
  bool ahead(const Vcpu& vcpu, std::uint64_t slowest) const {
    return slowest != kNobody && vcpu.published > slowest + pacing_.window_ps;
  }
  void advance_to(std::uint64_t ps);
  void wake_waiting(std::uint64_t slowest);
  void wait(int vcpu, std::unique_lock<std::mutex>& lock);

  Pacing pacing_;
  std::deque<Vcpu> vcpus_;
  std::mutex mutex_;
  std::atomic<bool> running_{false};
  std::atomic<int> waiting_{0};
  std::atomic<std::uint64_t> present_{0};
};

}  // namespace numalab
