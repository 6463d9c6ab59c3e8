// SPDX-License-Identifier: MIT
#include "tests/lab/plugin/pacer.h"

#include <algorithm>
#include <chrono>

namespace numalab {

Pacer::Pacer(int vcpus, const Pacing& pacing)
    : pacing_(pacing), vcpus_(static_cast<std::size_t>(vcpus)) {}

void Pacer::start(std::uint64_t now_ps) {
  const std::scoped_lock lock(mutex_);
  for (Vcpu& vcpu : vcpus_) {
    vcpu.base = now_ps;
    *vcpu.counter = vcpu.counted = 0;
    vcpu.shown = now_ps;
    vcpu.published = now_ps;
  }
  present_ = now_ps;
  running_ = true;
}

void Pacer::stop(const std::function<void(std::uint64_t)>& go_on) {
  const std::scoped_lock lock(mutex_);
  std::uint64_t latest = present_;
  for (std::size_t i = 0; i < vcpus_.size(); ++i) {
    latest = std::max({latest, vcpus_[i].shown, now(static_cast<int>(i))});
  }
  go_on(latest);
  running_ = false;
  for (Vcpu& vcpu : vcpus_) vcpu.wake.notify_all();
}

std::uint64_t Pacer::slowest() const {
  std::uint64_t least = kNobody;
  for (const Vcpu& vcpu : vcpus_) {
    if (!vcpu.idle) least = std::min(least, vcpu.published.load(std::memory_order_relaxed));
  }
  return least;
}

std::uint64_t Pacer::slowest_or_present() const {
  const std::uint64_t least = slowest();
  return least == kNobody ? present_.load() : least;
}

void Pacer::advance_to(std::uint64_t ps) {
  std::uint64_t before = present_;
  while (ps != kNobody && ps > before && !present_.compare_exchange_weak(before, ps)) {
  }
}

void Pacer::publish(int vcpu) {
  Vcpu& me = at(vcpu);
  me.base += *me.counter;
  *me.counter = me.counted = 0;
  me.published = me.base;
}

void Pacer::wake_waiting(std::uint64_t least) {
  for (Vcpu& vcpu : vcpus_) {
    if (vcpu.waiting && !ahead(vcpu, least)) vcpu.wake.notify_one();
  }
}

void Pacer::wait(int vcpu, std::unique_lock<std::mutex>& lock) {
  Vcpu& me = at(vcpu);
  ++me.counters.waits;
  me.poked = false;
  me.waiting = true;
  ++waiting_;
  const bool in_time = me.wake.wait_for(lock, std::chrono::microseconds(pacing_.patience_us), [&] {
    return !running_ || me.poked || !ahead(me, slowest());
  });
  me.waiting = false;
  --waiting_;
  if (!running_ || (in_time && !me.poked)) return;
  if (!in_time) ++me.counters.timeouts;
  // One block, then it waits again: nobody inside QEMU may need this vCPU for ever.
  me.base -= pacing_.quantum_ps;
  *me.counter += pacing_.quantum_ps;
  me.counted = pacing_.quantum_ps;
}

void Pacer::synchronize(int vcpu) {
  Vcpu& me = at(vcpu);
  if (!running_) {
    *me.counter = me.counted = 0;
    return;
  }
  publish(vcpu);
  std::uint64_t least = slowest();
  // The present does not go back when a vCPU is put back: it alone does not say that nobody can be
  // woken.
  if (!ahead(me, least) && least <= present_ && waiting_ == 0) return;
  std::unique_lock lock(mutex_);
  least = slowest();
  advance_to(least);
  wake_waiting(least);
  if (ahead(me, least)) wait(vcpu, lock);
}

void Pacer::poke(int vcpu, std::uint64_t ps) {
  Vcpu& other = at(vcpu);
  if (ps < other.published) other.published = ps;
  if (!other.waiting) return;
  const std::scoped_lock lock(mutex_);
  other.poked = true;
  other.wake.notify_one();
}

void Pacer::went_idle(int vcpu) {
  Vcpu& me = at(vcpu);
  const std::scoped_lock lock(mutex_);
  if (running_) publish(vcpu);
  me.idle = true;
  if (!running_) return;
  const std::uint64_t least = slowest();
  advance_to(least == kNobody ? me.published.load() : least);
  wake_waiting(least);
}

void Pacer::resumed(int vcpu) {
  Vcpu& me = at(vcpu);
  const std::scoped_lock lock(mutex_);
  if (running_) {
    publish(vcpu);
    if (me.base < present_) me.published = me.base = present_;
  }
  me.idle = false;
}

std::uint64_t Pacer::clock(int vcpu) {
  Vcpu& me = at(vcpu);
  me.shown = std::max(me.shown, me.idle ? present_.load() : now(vcpu));
  return me.shown;
}

void Pacer::advance_idle(std::uint64_t ps) {
  const std::scoped_lock lock(mutex_);
  if (all_idle()) present_ += ps;
}

void Pacer::follow() {
  const std::scoped_lock lock(mutex_);
  advance_to(slowest());
}

}  // namespace numalab
