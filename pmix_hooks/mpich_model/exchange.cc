// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/mpich_model/exchange.h"

#include <algorithm>

namespace ondeloc::mpich_model {
namespace {

constexpr std::uint64_t kLongAllgather = 524288;
constexpr std::uint64_t kShortAllgather = 81920;
constexpr std::uint64_t kShortAlltoall = 256;
constexpr std::uint64_t kShortStartedAlltoall = 2048;
constexpr std::uint64_t kMediumAlltoall = 32768;
// The table says "less than 8", and MPICH's search takes it for "at most".
constexpr int kFewRanks = 8;

std::uint64_t times(std::uint64_t bytes, int blocks) {
  return bytes * static_cast<std::uint64_t>(blocks);
}

// In the tree of a gather or a scatter: the distance to the parent, and the blocks below.
struct Tree {
  int distance = 1;
  int blocks = 0;
  Tree(const Group& group, int relative) {
    while (distance < group.size && (relative & distance) == 0) distance <<= 1;
    blocks = std::min(distance, group.size - relative);
  }
};

void allgather_by_doubling(const Group& group, const Blocks& counts, std::uint64_t type_size) {
  for (int distance = 1; distance < group.size; distance <<= 1) {
    const int first = group.rank & ~(distance - 1);
    group.send(group.rank ^ distance, counts.sum(first, first + distance) * type_size);
  }
}

void allgather_by_bruck(const Group& group, const Blocks& counts, std::uint64_t type_size) {
  int distance = 1;
  const auto send = [&](int blocks) {
    group.send(group.around(group.rank, group.size - distance),
               counts.sum_around(group.rank, blocks, group.size) * type_size);
  };
  for (; distance <= group.size / 2; distance *= 2) send(distance);
  if (group.size > distance) send(group.size - distance);
}

std::uint64_t largest(const Blocks& counts, int size) {
  std::uint64_t most = 0;
  for (int rank = 0; rank < size; ++rank) most = std::max(most, counts[rank]);
  return most;
}

std::uint64_t smallest(const Blocks& counts, int size) {
  std::uint64_t least = counts[0];
  for (int rank = 1; rank < size; ++rank) least = std::min(least, counts[rank]);
  return least;
}

// Elements of one message in a ring.
std::uint64_t piece_of(const Group& group, const Blocks& counts, std::uint64_t type_size,
                       std::uint64_t pipeline_bytes, Form form) {
  const std::uint64_t fitting = std::max<std::uint64_t>(pipeline_bytes / type_size, 1);
  if (form == Form::kBlocking) {
    const std::uint64_t most = largest(counts, group.size);
    const bool cut = pipeline_bytes > 0 && most * type_size > pipeline_bytes;
    return cut ? fitting : most;
  }
  const std::uint64_t least = smallest(counts, group.size);
  return least * type_size < pipeline_bytes ? fitting : std::max<std::uint64_t>(least, 1);
}

void allgatherv_by_ring(const Group& group, const Blocks& counts, std::uint64_t type_size,
                        std::uint64_t piece) {
  const int right = group.around(group.rank, 1);
  for (int turn = 0; turn + 1 < group.size; ++turn) {
    const int block = group.around(group.rank, group.size - turn);
    for (std::uint64_t left = counts[block]; left > 0;) {
      const std::uint64_t now = std::min(left, piece);
      group.send(right, now * type_size);
      left -= now;
    }
  }
}

void alltoall_by_bruck(const Group& group, std::uint64_t bytes) {
  for (int distance = 1; distance < group.size; distance *= 2) {
    int blocks = 0;
    for (int block = 1; block < group.size; ++block)
      if ((block & distance) != 0) ++blocks;
    group.send(group.around(group.rank, distance), times(bytes, blocks));
  }
}

void send_to_all(const Group& group, std::uint64_t bytes, bool itself) {
  for (int turn = itself ? 0 : 1; turn < group.size; ++turn)
    group.send(group.around(group.rank, turn), bytes);
}

}  // namespace

void gather(const Group& group, std::uint64_t bytes, int root) {
  const int relative = group.relative(root);
  if (relative == 0 || bytes == 0) return;
  const Tree tree(group, relative);
  group.send(group.around(root, relative - tree.distance), times(bytes, tree.blocks));
}

void scatter_blocks(const Group& group, std::uint64_t bytes, int root) {
  const int relative = group.relative(root);
  if (bytes == 0) return;
  const Tree tree(group, relative);
  int held = relative == 0 ? group.size : tree.blocks;
  for (int distance = tree.distance >> 1; distance > 0; distance >>= 1) {
    if (relative + distance >= group.size) continue;
    group.send(group.around(group.rank, distance), times(bytes, held - distance));
    held = distance;
  }
}

void allgather(const Group& group, std::uint64_t bytes) {
  const std::uint64_t total = times(bytes, group.size);
  if (group.size < 2 || total == 0) return;
  if (is_power_of_two(group.size) && total < kLongAllgather)
    return allgather_by_doubling(group, Blocks(bytes), 1);
  if (!is_power_of_two(group.size) && total < kShortAllgather)
    return allgather_by_bruck(group, Blocks(bytes), 1);
  for (int turn = 1; turn < group.size; ++turn) group.send(group.around(group.rank, 1), bytes);
}

void allgatherv(const Group& group, const Blocks& counts, std::uint64_t type_size,
                std::uint64_t pipeline_bytes, Form form) {
  const std::uint64_t total = counts.sum(0, group.size) * type_size;
  if (group.size < 2 || total == 0) return;
  if (is_power_of_two(group.size) && total < kLongAllgather)
    return allgather_by_doubling(group, counts, type_size);
  if (!is_power_of_two(group.size) && total < kShortAllgather)
    return allgather_by_bruck(group, counts, type_size);
  allgatherv_by_ring(group, counts, type_size,
                     piece_of(group, counts, type_size, pipeline_bytes, form));
}

void alltoall(const Group& group, std::uint64_t bytes, bool in_place, Form form) {
  if (bytes == 0) return;
  if (in_place) return send_to_all(group, bytes, form == Form::kBlocking);
  const std::uint64_t limit = form == Form::kBlocking ? kShortAlltoall : kShortStartedAlltoall;
  if (group.size > kFewRanks && bytes <= limit) return alltoall_by_bruck(group, bytes);
  send_to_all(group, bytes, bytes <= kMediumAlltoall);
}

void scan(const Group& group, std::uint64_t bytes) {
  if (bytes == 0) return;
  for (int distance = 1; distance < group.size; distance <<= 1)
    if ((group.rank ^ distance) < group.size) group.send(group.rank ^ distance, bytes);
}

void barrier(const Group& group) {
  for (int distance = 1; distance < group.size; distance <<= 1)
    group.send(group.around(group.rank, distance), 0);
}

}  // namespace ondeloc::mpich_model
