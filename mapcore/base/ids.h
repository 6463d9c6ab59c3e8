// SPDX-License-Identifier: Apache-2.0
// Index types that must not be mixed. Each is an int with a name; conversion is
// spelled out both ways: LocalRank{3}, rank.value. IndexedVector has a strong id as its index.
#pragma once

#include <compare>

namespace ondeloc {

template <class Tag, class Rep>
struct StrongInt {
  Rep value{};
  constexpr StrongInt() = default;
  constexpr explicit StrongInt(Rep v) : value(v) {}
  // NOLINTNEXTLINE(modernize-use-nullptr): false, the generated comparison with 0
  friend constexpr auto operator<=>(StrongInt, StrongInt) = default;
};

using LocalRank = StrongInt<struct LocalRankTag, int>;  // index on this node, 0..n-1
using WorldRank = StrongInt<struct WorldRankTag, int>;  // rank in MPI_COMM_WORLD
using PuOs = StrongInt<struct PuOsTag, int>;            // the kernel's CPU number
using PuLogical = StrongInt<struct PuLogicalTag, int>;  // hwloc logical index in the whole machine
using NodeIndex = StrongInt<struct NodeIndexTag, int>;  // position in Machine::nodes
using LlcIndex = StrongInt<struct LlcIndexTag, int>;    // position in Machine::llcs
using SlotIndex = StrongInt<struct SlotIndexTag, int>;  // position in SlotSet

// The highest world rank that a file or an option may name: far above every job of today, and a
// bound for memory that is as large as a rank that was read.
inline constexpr int kMaxWorldRank = (1 << 24) - 1;

}  // namespace ondeloc
