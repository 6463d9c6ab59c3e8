// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/mpich_model/reduction.h"

#include <algorithm>

namespace ondeloc::mpich_model {
namespace {

constexpr std::uint64_t kShortReduce = 2048;
constexpr std::uint64_t kShortAllreduce = 8;            // of the table for blocking calls
constexpr std::uint64_t kShortStartedAllreduce = 2048;  // and for started ones
constexpr std::uint64_t kLongReduceScatter = 524288;

// MPICH reduces a group to a power of two first: of the first 2 * extra ranks each second one
// gives its data to its neighbour, and only the others go on, under new ranks.
class Folded {
 public:
  // `keep_odd`: the odd one of two neighbours goes on.
  Folded(const Group& group, bool keep_odd)
      : size(power_of_two_below(group.size)), extra_(group.size - size), odd_(keep_odd ? 1 : 0) {
    if (group.rank >= 2 * extra_)
      rank = group.rank - extra_;
    else
      rank = group.rank % 2 == odd_ ? group.rank / 2 : -1;
  }
  bool goes_on() const { return rank >= 0; }
  bool is_pair_of(const Group& group) const { return group.rank < 2 * extra_; }
  int extra() const { return extra_; }
  // In the group.
  int original(int folded) const { return folded < extra_ ? folded * 2 + odd_ : folded + extra_; }

  int size;
  int rank;

 private:
  int extra_;
  int odd_;
};

void fold(const Group& group, const Folded& folded, std::uint64_t bytes) {
  if (!folded.goes_on()) group.send(group.rank % 2 == 0 ? group.rank + 1 : group.rank - 1, bytes);
}

// Elements that are cut into blocks. A blocking call gives the first blocks one more element each,
// a started call gives all that is left over to the last block.
struct EvenBlocks {
  std::uint64_t count;
  int parts;
  Form form;
  std::uint64_t before(int block) const {
    const auto p = static_cast<std::uint64_t>(parts), b = static_cast<std::uint64_t>(block);
    if (form == Form::kStarted) return b == p ? count : b * (count / p);
    return b * (count / p) + std::min(b, count % p);
  }
  std::uint64_t between(int first, int last) const {
    return last > first ? before(last) - before(first) : 0;
  }
};

// The blocks that a rank sends from and keeps while it halves its data.
struct Halving {
  int send = 0, receive = 0, last = 0;
};

// Elements that go to `other`, and the new blocks.
std::uint64_t halve(Halving& at, const EvenBlocks& blocks, int rank, int other, int half) {
  std::uint64_t elements = 0;
  if (rank < other) {
    at.send = at.receive + half;
    elements = blocks.between(at.send, at.last);
  } else {
    at.receive = at.send + half;
    elements = blocks.between(at.send, at.receive);
  }
  return elements;
}

Halving reduce_scatter_by_halving(const Group& group, const Folded& folded,
                                  const EvenBlocks& blocks, std::uint64_t type_size) {
  Halving at{0, 0, folded.size};
  for (int distance = 1; distance < folded.size; distance <<= 1) {
    const int other = folded.rank ^ distance;
    const std::uint64_t elements =
        halve(at, blocks, folded.rank, other, folded.size / (distance * 2));
    group.send(folded.original(other), elements * type_size);
    at.send = at.receive;
    if (distance * 2 < folded.size) at.last = at.receive + folded.size / (distance * 2);
  }
  return at;
}

// One step back: elements that a rank sends to `other`, and the new blocks.
std::uint64_t double_back(Halving& at, const EvenBlocks& blocks, const Folded& folded, int other,
                          int distance) {
  const int half = folded.size / (distance * 2);
  if (folded.rank < other) {
    if (distance != folded.size / 2) at.last += half;
    at.receive = at.send + half;
    return blocks.between(at.send, at.receive);
  }
  at.receive = at.send - half;
  return blocks.between(at.send, at.last);
}

void allgather_by_doubling(const Group& group, const Folded& folded, const EvenBlocks& blocks,
                           std::uint64_t type_size, Halving at) {
  for (int distance = folded.size / 2; distance > 0; distance >>= 1) {
    const int other = folded.rank ^ distance;
    const std::uint64_t elements = double_back(at, blocks, folded, other, distance);
    group.send(folded.original(other), elements * type_size);
    if (folded.rank > other) at.send = at.receive;
  }
}

void allreduce_by_doubling(const Group& group, const Folded& folded, std::uint64_t bytes) {
  for (int distance = 1; distance < folded.size; distance <<= 1)
    group.send(folded.original(folded.rank ^ distance), bytes);
}

void reduce_binomial(const Group& group, const Operand& operand, int root) {
  const int tree_root = operand.commutative ? root : 0;
  const int relative = group.relative(tree_root);
  for (int distance = 1; distance < group.size; distance <<= 1) {
    if ((relative & distance) == 0) continue;
    group.send(group.around(tree_root, relative & ~distance), operand.bytes());
    break;
  }
  if (tree_root != root && group.rank == 0) group.send(root, operand.bytes());
}

// The data goes up a tree of the folded ranks whose root is `target`.
void gather_to(const Group& group, const Folded& folded, const EvenBlocks& blocks,
               std::uint64_t type_size, Halving at, int root, int rank) {
  const bool root_was_folded = root < 2 * folded.extra() && root % 2 != 0;
  const int target = root < 2 * folded.extra() ? root / 2 : root - folded.extra();
  const int goal = root_was_folded ? 0 : target;
  int level = 0;
  while (1 << (level + 1) < folded.size) ++level;
  Folded here = folded;
  here.rank = rank;
  for (int distance = folded.size / 2; distance > 0; distance >>= 1, --level) {
    const int other = rank ^ distance;
    const int to = other == 0 && root_was_folded ? root : folded.original(other);
    const std::uint64_t elements = double_back(at, blocks, here, other, distance);
    if (other >> level == goal >> level) return group.send(to, elements * type_size);
    if (rank > other) at.send = at.receive;
  }
}

void reduce_scatter_gather(const Group& group, const Operand& operand, int root, Form form) {
  const Folded folded(group, false);
  fold(group, folded, operand.bytes());
  const EvenBlocks blocks{operand.count, folded.size, form};
  Halving at{0, 0, folded.size};
  if (folded.goes_on()) at = reduce_scatter_by_halving(group, folded, blocks, operand.type_size);
  int rank = folded.rank;
  if (root < 2 * folded.extra() && root % 2 != 0) {
    // The root was folded away: it takes the place of folded rank 0, which gives it its block.
    if (group.rank == root)
      rank = 0, at = {0, 0, 2};
    else if (rank == 0)
      group.send(root, blocks.between(0, 1) * operand.type_size), rank = -1;
  }
  if (rank >= 0) gather_to(group, folded, blocks, operand.type_size, at, root, rank);
}

bool is_cut(const Group& group, const Operand& operand) {
  return operand.predefined &&
         operand.count >= static_cast<std::uint64_t>(power_of_two_below(group.size));
}

// Elements of the results of the folded ranks before `folded_rank`.
std::uint64_t results_before(const Folded& folded, const Blocks& blocks, int folded_rank) {
  const int pairs = std::min(folded_rank, folded.extra());
  return blocks.sum(0, pairs + folded_rank);
}

void reduce_scatter_halving(const Group& group, const Blocks& blocks, std::uint64_t type_size) {
  const Folded folded(group, true);
  fold(group, folded, blocks.sum(0, group.size) * type_size);
  int send = 0, receive = 0, last = folded.size;
  for (int half = folded.size / 2; folded.goes_on() && half > 0; half >>= 1) {
    const int other = folded.rank ^ half;
    int from = 0, to = 0;
    if (folded.rank < other) {
      send = receive + half;
      from = send, to = last;
    } else {
      receive = send + half;
      from = send, to = receive;
    }
    const std::uint64_t elements =
        results_before(folded, blocks, to) - results_before(folded, blocks, from);
    if (elements != 0) group.send(folded.original(other), elements * type_size);
    send = receive;
    last = receive + half;
  }
  if (folded.goes_on() && folded.is_pair_of(group) && blocks[group.rank - 1] != 0)
    group.send(group.rank - 1, blocks[group.rank - 1] * type_size);
}

void reduce_scatter_pairwise(const Group& group, const Blocks& blocks, std::uint64_t type_size) {
  for (int turn = 1; turn < group.size; ++turn) {
    const int to = group.around(group.rank, turn);
    group.send(to, blocks[to] * type_size);
  }
}

// Not commutative, a power of two, all results alike.
void reduce_scatter_mirrored(const Group& group, std::uint64_t bytes) {
  for (int distance = 1; distance < group.size; distance <<= 1) {
    bytes /= 2;
    group.send(group.rank ^ distance, bytes);
  }
}

// Everything but the results of the tree of `size` ranks that `rank` belongs to.
std::uint64_t outside_tree(const Group& group, const Blocks& blocks, int rank, int size) {
  const int first = std::min(rank & ~(size - 1), group.size);
  return blocks.sum(0, first) + blocks.sum(std::min(first + size, group.size), group.size);
}

// Ranks that find no partner in a step, because the group is no power of two, get the data from
// ranks that did.
void send_to_those_left_out(const Group& group, int distance, std::uint64_t bytes) {
  const int first = group.rank & ~(distance - 1);
  const int complete = group.size - first - distance;
  for (int half = distance >> 1; half > 0; half >>= 1) {
    const int other = group.rank ^ half;
    const int bound = (group.rank & ~(2 * half - 1)) + complete;
    if (other > group.rank && group.rank < bound && other >= bound) group.send(other, bytes);
  }
}

void reduce_scatter_doubling(const Group& group, const Blocks& blocks, std::uint64_t type_size) {
  for (int distance = 1; distance < group.size; distance <<= 1) {
    const int other = group.rank ^ distance;
    if (other < group.size)
      group.send(other, outside_tree(group, blocks, group.rank, distance) * type_size);
    const std::uint64_t received = outside_tree(group, blocks, other, distance) * type_size;
    if ((other & ~(distance - 1)) + distance > group.size)
      send_to_those_left_out(group, distance, received);
  }
}

}  // namespace

void reduce(const Group& group, const Operand& operand, int root, Form form) {
  if (group.size < 2 || operand.count == 0) return;
  if (operand.bytes() > kShortReduce && is_cut(group, operand))
    reduce_scatter_gather(group, operand, root, form);
  else
    reduce_binomial(group, operand, root);
}

void allreduce(const Group& group, const Operand& operand, Form form) {
  if (group.size < 2 || operand.count == 0) return;
  const std::uint64_t bytes = operand.bytes();
  const Folded folded(group, true);
  fold(group, folded, bytes);
  const EvenBlocks blocks{operand.count, folded.size, form};
  const std::uint64_t limit = form == Form::kBlocking ? kShortAllreduce : kShortStartedAllreduce;
  if (folded.goes_on()) {
    if (bytes <= limit || !is_cut(group, operand)) {
      allreduce_by_doubling(group, folded, bytes);
    } else {
      const Halving at = reduce_scatter_by_halving(group, folded, blocks, operand.type_size);
      allgather_by_doubling(group, folded, blocks, operand.type_size, at);
    }
    if (folded.is_pair_of(group)) group.send(group.rank - 1, bytes);
  }
}

void reduce_scatter(const Group& group, const Blocks& blocks, const Operand& operand, Form form) {
  const std::uint64_t bytes = blocks.sum(0, group.size) * operand.type_size;
  if (group.size < 2 || bytes == 0) return;
  // A started call with equal blocks compares elements, not bytes, with the limit.
  const bool by_elements = form == Form::kStarted && !blocks.are_given();
  const std::uint64_t compared = by_elements ? blocks.sum(0, group.size) : bytes;
  if (operand.commutative && compared < kLongReduceScatter)
    reduce_scatter_halving(group, blocks, operand.type_size);
  else if (operand.commutative)
    reduce_scatter_pairwise(group, blocks, operand.type_size);
  else if (is_power_of_two(group.size) && blocks.are_equal(group.size))
    reduce_scatter_mirrored(group, bytes);
  else
    reduce_scatter_doubling(group, blocks, operand.type_size);
}

}  // namespace ondeloc::mpich_model
