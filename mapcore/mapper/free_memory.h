// SPDX-License-Identifier: Apache-2.0
// Decides which pages can move, all moves taken together: pages that leave a node make room on it.
// Thread safety: pure functions, but for what `room` does.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

namespace ondeloc {

struct PageFlow {
  int from, to;  // kernel's numbers
  std::uint64_t bytes;
};

// Bytes that a node can take in. Empty if unknown: then the node is taken to have room for all.
using RoomOf = std::function<std::optional<std::uint64_t>(int node)>;

// room_on_node() minus the reserve that stays free.
std::optional<std::uint64_t> room_for_pages(int node);

// True for each flow that fits: no node gets more than its room plus what leaves it. If not all
// flows fit, the largest flows to an overfull node are left out. Asks `room` once for every target.
std::vector<bool> flows_that_fit(std::span<const PageFlow> flows, const RoomOf& room);

// True if all flows fit and can begin: pages change places piece by piece (PageMover), and every
// node that gets pages needs room for a piece.
bool all_can_move(std::span<const PageFlow> flows, const RoomOf& room);

}  // namespace ondeloc
