// SPDX-License-Identifier: MIT
// The counters of a vCPU. Only its own thread adds, so plain numbers do.
#pragma once
#include <cstdint>

namespace numalab {

// One row for each counter: member, name in the output.
#define NUMALAB_COUNTERS(X)                 \
  X(accesses, "accesses")                   \
  X(private_misses, "private_misses")       \
  X(sibling_hits, "sibling_hits")           \
  X(llc_hits, "llc_hits")                   \
  X(llc_misses, "llc_misses")               \
  X(cache_same_llc, "cache_same_llc")       \
  X(cache_same_node, "cache_same_node")     \
  X(cache_other_node, "cache_other_node")   \
  X(memory_local, "memory_local")           \
  X(memory_remote, "memory_remote")         \
  X(invalidations_far, "invalidations_far") \
  X(streamed, "streamed")                   \
  X(device_accesses, "device_accesses")     \
  X(stall_ps, "stall_ps")                   \
  X(waits, "waits")                         \
  X(timeouts, "timeouts")                   \
  X(overtaken, "overtaken")                 \
  X(overtaken_in_vain, "overtaken_in_vain") \
  X(set_backs, "set_backs")                 \
  X(set_back_ps, "set_back_ps")             \
  X(set_forwards, "set_forwards")           \
  X(set_forward_ps, "set_forward_ps")

struct Counters {
#define NUMALAB_MEMBER(member, name) std::uint64_t member = 0;
  NUMALAB_COUNTERS(NUMALAB_MEMBER)
#undef NUMALAB_MEMBER

  template <typename Function>
  void for_each(Function function) const {
#define NUMALAB_CALL(member, name) function(name, member);
    NUMALAB_COUNTERS(NUMALAB_CALL)
#undef NUMALAB_CALL
  }
  Counters& operator+=(const Counters& other) {
#define NUMALAB_ADD(member, name) member += other.member;
    NUMALAB_COUNTERS(NUMALAB_ADD)
#undef NUMALAB_ADD
    return *this;
  }
};

}  // namespace numalab
