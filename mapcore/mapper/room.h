// SPDX-License-Identifier: Apache-2.0
// Which pages can go where they should, all together: what leaves a node makes room on it.
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

// Bytes that a node can take in; empty where unknown: then it takes all.
using RoomOf = std::function<std::optional<std::uint64_t>(int node)>;

// room_on_node() without what is to spare.
std::optional<std::uint64_t> room_for_pages(int node);

// True for those that fit: no node gets more than it has room for and loses. Where they do not fit
// all, the largest that come to such a node are left out. Asks `room` once for every target.
std::vector<bool> flows_that_fit(std::span<const PageFlow> flows, const RoomOf& room);

// True when all fit, and can begin: pages change places a piece at a time (PageMover), for which
// every node that gets some needs room.
bool all_can_move(std::span<const PageFlow> flows, const RoomOf& room);

}  // namespace ondeloc
