// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/mpich_model/broadcast.h"

#include <algorithm>

namespace ondeloc::mpich_model {
namespace {

constexpr std::uint64_t kShort = 12288;
constexpr std::uint64_t kLong = 524288;
constexpr int kFewRanks = 8;

// Bytes of the blocks [first, last) of `block` bytes each, of which the last may be cut.
std::uint64_t bytes_of_blocks(std::uint64_t first, std::uint64_t last, std::uint64_t block,
                              std::uint64_t bytes) {
  const std::uint64_t end = std::min(last * block, bytes);
  return end > first * block ? end - first * block : 0;
}

// The lowest set bit of the relative rank: the distance to the parent in a binomial tree.
int distance_to_parent(const Group& group, int relative) {
  int distance = 1;
  while (distance < group.size && (relative & distance) == 0) distance <<= 1;
  return distance;
}

// A started call takes a rank to hold everything up to the end, and lets it send more than it has.
void scatter(const Group& group, std::uint64_t bytes, std::uint64_t block, int root, Form form) {
  const int relative = group.relative(root);
  int distance = distance_to_parent(group, relative);
  const auto first = static_cast<std::uint64_t>(relative);
  const std::uint64_t end = relative == 0 || form == Form::kStarted
                                ? static_cast<std::uint64_t>(group.size)
                                : first + static_cast<std::uint64_t>(distance);
  std::uint64_t held = bytes_of_blocks(first, end, block, bytes);
  for (distance >>= 1; distance > 0; distance >>= 1) {
    const std::uint64_t kept = block * static_cast<std::uint64_t>(distance);
    if (relative + distance >= group.size || held <= kept) continue;
    group.send(group.around(group.rank, distance), held - kept);
    held = kept;
  }
}

void gather_by_doubling(const Group& group, std::uint64_t bytes, std::uint64_t block, int root) {
  const int relative = group.relative(root);
  for (int distance = 1; distance < group.size; distance <<= 1) {
    const auto first = static_cast<std::uint64_t>(relative & ~(distance - 1));
    group.send(group.around(root, relative ^ distance),
               bytes_of_blocks(first, first + static_cast<std::uint64_t>(distance), block, bytes));
  }
}

void gather_by_ring(const Group& group, std::uint64_t bytes, std::uint64_t block, int root) {
  for (int turn = 0; turn + 1 < group.size; ++turn) {
    const auto at =
        static_cast<std::uint64_t>((group.relative(root) - turn + group.size) % group.size);
    group.send(group.around(group.rank, 1), bytes_of_blocks(at, at + 1, block, bytes));
  }
}

}  // namespace

void broadcast_binomial(const Group& group, std::uint64_t bytes, int root) {
  const int relative = group.relative(root);
  for (int distance = distance_to_parent(group, relative) >> 1; distance > 0; distance >>= 1)
    if (relative + distance < group.size) group.send(group.around(group.rank, distance), bytes);
}

void broadcast(const Group& group, std::uint64_t bytes, int root, Form form) {
  const bool blocking = form == Form::kBlocking;
  if (bytes == 0 && blocking) return;
  if (group.size < kFewRanks || bytes < kShort || (blocking && bytes == kShort))
    return broadcast_binomial(group, bytes, root);
  const auto ranks = static_cast<std::uint64_t>(group.size);
  const std::uint64_t block = (bytes + ranks - 1) / ranks;
  scatter(group, bytes, block, root, form);
  const bool is_long = blocking ? bytes > kLong : bytes >= kLong;
  if (is_power_of_two(group.size) && !is_long)
    gather_by_doubling(group, bytes, block, root);
  else
    gather_by_ring(group, bytes, block, root);
}

}  // namespace ondeloc::mpich_model
