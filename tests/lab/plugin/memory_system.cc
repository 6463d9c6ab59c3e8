// SPDX-License-Identifier: MIT
#include "tests/lab/plugin/memory_system.h"

#include <algorithm>
#include <bit>

#include "tests/lab/plugin/causality.h"

namespace numalab {
namespace {

std::uint64_t picoseconds(double ns) { return static_cast<std::uint64_t>(ns * 1000); }

}  // namespace

MemorySystem::MemorySystem(const Machine& machine, std::uint64_t node_bytes,
                           std::uint64_t polling_gap_ps)
    : net_(machine),
      node_lines_(node_bytes / CacheSize::kLineBytes),
      polling_gap_ps_(polling_gap_ps),
      llc_ps_(picoseconds(machine.llc_ns)),
      core_to_core_ps_(picoseconds(machine.core_to_core_ns)),
      thread_to_thread_ps_(picoseconds(machine.thread_to_thread_ns)),
      memory_ps_(picoseconds(machine.memory_ns)) {
  for (int vcpu = 0; vcpu < machine.vcpus(); ++vcpu) {
    const bool second = vcpu % machine.threads_per_core != 0;
    private_.emplace_back(machine.private_cache, second ? &private_.back() : nullptr);
  }
  for (int i = 0; i < machine.llcs(); ++i) llcs_.emplace_back(machine.llc);
}

int MemorySystem::home_of(std::uint64_t line) const {
  return static_cast<int>(
      std::min(line / node_lines_, static_cast<std::uint64_t>(machine().nodes - 1)));
}

Cost MemorySystem::access(int vcpu, std::uint64_t line, bool store, std::uint64_t now,
                          Counters& counters) {
  const int own_llc = machine().llc_of(machine().core_of(vcpu));
  const Access access{vcpu,
                      own_llc,
                      machine().node_of(own_llc),
                      vcpu % machine().vcpus_per_llc(),
                      home_of(line),
                      line,
                      store,
                      counters};
  Cost cost{llc_ps_, 0, now};
  const std::scoped_lock lock(locks_[lock_of(line)]);
  SharedLine* entry = llc(own_llc).find(line);
  if (entry != nullptr) {
    hit(access, *entry, cost);
  } else {
    entry = &miss(access, cost);
  }
  if (store) {
    drop_sharers(own_llc, *entry, access.place, cost.began_ps);
    entry->sharers = 0;
    entry->owner = access.place;
    entry->dirty = true;
    entry->written_ps = cost.began_ps + cost.latency_ps + cost.wait_ps;
  }
  entry->sharers |= std::uint64_t{1} << access.place;
  entry->used = ++use_clock_;
  const int other = sibling(access.place);
  const bool alone = other < 0 || !cache_at(own_llc, other).holds(line);
  const bool writable = store || (entry->owner == access.place && alone);
  private_cache(vcpu).put(line, writable, cost.began_ps);
  return cost;
}

// A core that polls the line sees what was written when the write happened, not when the host ran
// it.
void MemorySystem::corrected(const Access& access, std::uint64_t written, Cost& cost) {
  if (access.store) return;
  const Polling polling = private_cache(access.vcpu).polling(access.line);
  const std::uint64_t seen = seen_at(cost.began_ps, polling, written, polling_gap_ps_);
  Counters& counters = access.counters;
  if (seen < cost.began_ps) {
    ++counters.set_backs;
    counters.set_back_ps += cost.began_ps - seen;
  } else if (seen > cost.began_ps) {
    ++counters.set_forwards;
    counters.set_forward_ps += seen - cost.began_ps;
  }
  cost.began_ps = seen;
}

// The core's own cache has the line, for its other hardware thread: for a load that is enough. For
// a store the core has to be the line's owner. It stays that while its threads hand the line over.
bool MemorySystem::hit_in_core(const Access& access, SharedLine& entry, Cost& cost) {
  const int other = sibling(access.place);
  if (other < 0) return false;
  PrivateCache& others = cache_at(access.llc, other);
  const bool owned = entry.owner == other || entry.owner == access.place;
  const bool held = others.holds(access.line);
  const bool here = held || private_cache(access.vcpu).holds(access.line);
  if (!here || (access.store && !owned)) return false;
  corrected(access, entry.written_ps, cost);
  ++access.counters.sibling_hits;
  cost.latency_ps = others.may_write(access.line) ? thread_to_thread_ps_ : 0;
  if (!access.store) others.keep_read_only(access.line);
  return true;
}

void MemorySystem::hit(const Access& access, SharedLine& entry, Cost& cost) {
  if (hit_in_core(access, entry, cost)) return;
  const bool owned = entry.owner == access.place || entry.owner == sibling(access.place);
  if (entry.owner >= 0 && !owned) {
    corrected(access, entry.written_ps, cost);
    cost.latency_ps += core_to_core_ps_;
    ++access.counters.cache_same_llc;
    if (access.store) {
      take(access.llc, entry.owner, access.line, cost.began_ps);
    } else {
      cache_at(access.llc, entry.owner).keep_read_only(access.line);
    }
    entry.owner = -1;
  } else {
    // Its owner may have given the line to another core of this cache already: the write is as old
    // all the same.
    corrected(access, entry.written_ps, cost);
    ++access.counters.llc_hits;
  }
  if (access.store && entry.elsewhere) {
    invalidate_elsewhere(access, cost);
    entry.elsewhere = false;
  }
}

// The request goes to the home node, invalidations from there to every other cache, their answers
// to this core.
void MemorySystem::invalidate_elsewhere(const Access& access, Cost& cost) {
  std::uint64_t longest = 0;
  bool found = false;
  for (int other = 0; other < machine().llcs(); ++other) {
    if (other == access.llc) continue;
    SharedLine* entry = llc(other).find(access.line);
    if (entry == nullptr) continue;
    drop_sharers(other, *entry, -1, cost.began_ps);
    *entry = {};
    found = true;
    const int node = machine().node_of(other);
    longest = std::max(longest, net_.way_ps(access.home, node) + net_.way_ps(node, access.node));
    cost.wait_ps += net_.message(cost.began_ps, access.node, node);
  }
  if (!found) return;
  ++access.counters.invalidations_far;
  cost.latency_ps += net_.fabric_ps() + net_.way_ps(access.node, access.home) + longest;
}

// Returns the cache that has the newest copy of a changed line, -1 when memory has it.
int MemorySystem::take_from_other_caches(const Access& access, Cost& cost) {
  int from = -1;
  for (int other = 0; other < machine().llcs(); ++other) {
    if (other == access.llc) continue;
    SharedLine* entry = llc(other).find(access.line);
    if (entry == nullptr) continue;
    corrected(access, entry->written_ps, cost);
    if (entry->dirty || entry->owner >= 0) from = other;
    if (access.store) {
      drop_sharers(other, *entry, -1, cost.began_ps);
      *entry = {};
      continue;
    }
    if (entry->owner >= 0) cache_at(other, entry->owner).keep_read_only(access.line);
    if (from == other) write_back(other, access.line, cost.began_ps);
    entry->owner = -1;
    entry->dirty = false;
    entry->elsewhere = true;
  }
  return from;
}

SharedLine& MemorySystem::miss(const Access& access, Cost& cost) {
  ++access.counters.llc_misses;
  const int from = take_from_other_caches(access, cost);
  bool elsewhere = false;
  std::uint64_t written = 0;
  for (int other = 0; other < machine().llcs() && !access.store; ++other) {
    const SharedLine* entry = other == access.llc ? nullptr : llc(other).find(access.line);
    if (entry == nullptr) continue;
    elsewhere = true;
    written = std::max(written, entry->written_ps);
  }
  fetch(access, from, cost);
  SharedLine& place = llc(access.llc).victim(access.line);
  if (place.line != 0) evict(access.llc, place, cost.began_ps);
  place = {};
  place.line = access.line;
  place.elsewhere = elsewhere;
  place.written_ps = written;
  return place;
}

void MemorySystem::fetch(const Access& access, int from_llc, Cost& cost) {
  Counters& counters = access.counters;
  if (from_llc < 0) {
    cost.latency_ps +=
        memory_ps_ + net_.way_ps(access.node, access.home) + net_.way_ps(access.home, access.node);
    cost.wait_ps += net_.from_memory(cost.began_ps, access.home, access.llc);
    ++(access.home == access.node ? counters.memory_local : counters.memory_remote);
    return;
  }
  const int from_node = machine().node_of(from_llc);
  cost.latency_ps += core_to_core_ps_ + net_.fabric_ps() + net_.way_ps(access.node, access.home) +
                     net_.way_ps(access.home, from_node) + net_.way_ps(from_node, access.node);
  cost.wait_ps += net_.between_caches(cost.began_ps, from_llc, access.llc);
  ++(from_node == access.node ? counters.cache_same_node : counters.cache_other_node);
}

// A write-back takes bandwidth, but no core waits for it.
void MemorySystem::write_back(int number, std::uint64_t line, std::uint64_t now) {
  net_.to_memory(now, number, home_of(line));
}

void MemorySystem::evict(int number, SharedLine& entry, std::uint64_t now) {
  for (std::uint64_t left = entry.sharers; left != 0; left &= left - 1) {
    cache_at(number, std::countr_zero(left)).forget(entry.line);
  }
  if (entry.dirty || entry.owner >= 0) write_back(number, entry.line, now);
}

void MemorySystem::take(int number, int place, std::uint64_t line, std::uint64_t now) {
  const bool polled = cache_at(number, place).drop(line);
  if (polled) when_taken_(number * machine().vcpus_per_llc() + place, now);
}

void MemorySystem::drop_sharers(int number, const SharedLine& entry, int except,
                                std::uint64_t now) {
  for (std::uint64_t left = entry.sharers; left != 0; left &= left - 1) {
    const int place = std::countr_zero(left);
    if (place != except) take(number, place, entry.line, now);
  }
}

}  // namespace numalab
