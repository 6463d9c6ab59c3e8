// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/free_memory.h"

#include <algorithm>
#include <map>

#include "mapcore/binding/memory.h"

namespace ondeloc {
namespace {

constexpr std::uint64_t kUnlimited = std::uint64_t{1} << 62;
constexpr std::uint64_t kPiece = std::uint64_t{16} << 20;

// Node -> bytes that it has room for, by what leaves it as well.
std::map<int, std::uint64_t> room_of_targets(std::span<const PageFlow> flows, const RoomOf& room) {
  std::map<int, std::uint64_t> rooms;
  for (const PageFlow& flow : flows) {
    if (!rooms.contains(flow.to)) rooms[flow.to] = room(flow.to).value_or(kUnlimited);
  }
  return rooms;
}

bool overfills(int node, std::uint64_t room, std::span<const PageFlow> flows,
               const std::vector<bool>& fits) {
  std::uint64_t come = 0, go = 0;
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (fits[i] && flows[i].to == node) come += flows[i].bytes;
    if (fits[i] && flows[i].from == node) go += flows[i].bytes;
  }
  return come > room + go;
}

void leave_out_largest(int node, std::span<const PageFlow> flows, std::vector<bool>& fits) {
  std::size_t largest = flows.size();
  for (std::size_t i = 0; i < flows.size(); ++i) {
    if (!fits[i] || flows[i].to != node) continue;
    if (largest == flows.size() || flows[i].bytes > flows[largest].bytes) largest = i;
  }
  fits[largest] = false;
}

}  // namespace

std::optional<std::uint64_t> room_for_pages(int node) {
  const auto room = room_on_node(node);
  if (!room) return room;
  return *room - std::min(*room, kSpareRoom);
}

bool all_can_move(std::span<const PageFlow> flows, const RoomOf& room) {
  const std::vector<bool> fits = flows_that_fit(flows, room);
  if (std::find(fits.begin(), fits.end(), false) != fits.end()) return false;
  const auto rooms = room_of_targets(flows, room);
  return std::all_of(flows.begin(), flows.end(), [&](const PageFlow& flow) {
    return rooms.at(flow.to) >= std::min(flow.bytes, kPiece);
  });
}

std::vector<bool> flows_that_fit(std::span<const PageFlow> flows, const RoomOf& room) {
  std::vector<bool> fits(flows.size(), true);
  const auto rooms = room_of_targets(flows, room);
  for (bool all = false; !all;) {
    all = true;
    for (const auto& [node, bytes] : rooms) {
      if (!overfills(node, bytes, flows, fits)) continue;
      leave_out_largest(node, flows, fits);
      all = false;
    }
  }
  return fits;
}

}  // namespace ondeloc
