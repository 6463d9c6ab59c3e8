// SPDX-License-Identifier: MIT
// Caches, coherence and memory: what one access that the private cache cannot answer costs its
// hardware thread. A line's directory is with the memory controller of its home node: a request for
// a line that another cache has changed goes by way of the home node, so the node where a page lies
// decides together with the two cores.
#pragma once
#include <array>
#include <deque>
#include <functional>
#include <mutex>

#include "tests/lab/plugin/counters.h"
#include "tests/lab/plugin/interconnect.h"
#include "tests/lab/plugin/private_cache.h"
#include "tests/lab/plugin/shared_cache.h"

namespace numalab {

struct Cost {
  std::uint64_t latency_ps = 0;  // a stream hides it
  std::uint64_t wait_ps = 0;     // for bandwidth: nothing hides it
  std::uint64_t began_ps = 0;    // when the access began, corrected for a core that polls
};

class MemorySystem {
 public:
  // node_bytes: guest-physical memory of each node, one after the other from address 0.
  MemorySystem(const Machine& machine, std::uint64_t node_bytes, std::uint64_t polling_gap_ps);

  PrivateCache& private_cache(int vcpu) { return private_[static_cast<std::size_t>(vcpu)]; }
  Interconnect& interconnect() { return net_; }
  const Interconnect& interconnect() const { return net_; }
  // Called when another one's write, begun at `now`, takes a line that `vcpu` polls.
  void when_taken(std::function<void(int vcpu, std::uint64_t now)> call) {
    when_taken_ = std::move(call);
  }
  // An access of `vcpu` that its private cache cannot answer.
  Cost access(int vcpu, std::uint64_t line, bool store, std::uint64_t now, Counters& counters);
  int home_of(std::uint64_t line) const;
  // The number of the lock under which the line is looked up, replaced and changed: one for all
  // lines of a set. All last-level caches have the same sets.
  std::size_t lock_of(std::uint64_t line) const { return llcs_[0].set_of(line) % kLocks; }

 private:
  struct Access {
    int vcpu, llc, node, place, home;  // place: number of the hardware thread in its cache
    std::uint64_t line;
    bool store;
    Counters& counters;
  };
  void hit(const Access& access, SharedLine& entry, Cost& cost);
  bool hit_in_core(const Access& access, SharedLine& entry, Cost& cost);
  SharedLine& miss(const Access& access, Cost& cost);
  void invalidate_elsewhere(const Access& access, Cost& cost);
  int take_from_other_caches(const Access& access, Cost& cost);
  void fetch(const Access& access, int from_llc, Cost& cost);
  void write_back(int number, std::uint64_t line, std::uint64_t now);
  void evict(int number, SharedLine& entry, std::uint64_t now);
  void take(int number, int place, std::uint64_t line, std::uint64_t now);
  void drop_sharers(int number, const SharedLine& entry, int except, std::uint64_t now);
  void corrected(const Access& access, std::uint64_t written, Cost& cost);
  PrivateCache& cache_at(int number, int place) {
    return private_cache(number * machine().vcpus_per_llc() + place);
  }
  // The place of the other hardware thread of a core; -1: it has none.
  int sibling(int place) const { return machine().threads_per_core == 2 ? place ^ 1 : -1; }
  SharedCache& llc(int number) { return llcs_[static_cast<std::size_t>(number)]; }
  const Machine& machine() const { return net_.machine(); }

  static constexpr std::size_t kLocks = 256;
  Interconnect net_;
  std::uint64_t node_lines_;
  std::uint64_t polling_gap_ps_;
  std::uint64_t llc_ps_, core_to_core_ps_, thread_to_thread_ps_, memory_ps_;
  std::deque<PrivateCache> private_;
  std::deque<SharedCache> llcs_;
  std::array<std::mutex, kLocks> locks_;
  std::atomic<std::uint32_t> use_clock_{0};
  std::function<void(int, std::uint64_t)> when_taken_ = [](int, std::uint64_t) {};
};

}  // namespace numalab
