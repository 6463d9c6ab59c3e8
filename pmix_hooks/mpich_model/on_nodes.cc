// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/mpich_model/on_nodes.h"

#include "pmix_hooks/mpich_model/exchange.h"

namespace ondeloc::mpich_model {
namespace {

constexpr std::uint64_t kShortBroadcast = 12288;
constexpr std::uint64_t kLongBroadcast = 524288;
constexpr std::uint64_t kShortReduce = 2048;
constexpr int kFewRanks = 8;

}  // namespace

OnNodes::OnNodes(const Communicator& communicator, const Collective& call, const Sink& sink)
    : call_(call),
      nodes_(communicator.nodes),
      all_{&sink, nullptr, communicator.size, communicator.rank},
      mine_{&sink, nodes_.mine, 1, 0},
      first_{&sink, nodes_.first, nodes_.count, -1} {
  if (!composed()) return;
  mine_.size = nodes_.mine_count;
  mine_.rank = nodes_.rank_on_node[all_.rank];
  if (is_first()) first_.rank = nodes_.node[all_.rank];
}

void OnNodes::send() const {
  switch (call_.kind) {
    case Kind::kBarrier:
      return send_barrier();
    case Kind::kBroadcast:
      return send_broadcast();
    case Kind::kReduce:
      return send_reduce();
    case Kind::kAllreduce:
      return send_allreduce();
    case Kind::kScan:
      return send_scan();
    default:
      return;
  }
}

// The last step lets the ranks of a node go with one byte.
void OnNodes::send_barrier() const {
  if (!composed() || call_.form == Form::kStarted) return barrier(all_);
  barrier(mine_);
  if (is_first()) barrier(first_);
  broadcast(mine_, 1, 0, Form::kBlocking);
}

void OnNodes::send_broadcast() const {
  const std::uint64_t bytes = call_.operand.bytes();
  if (!composed()) return broadcast(all_, bytes, call_.root, call_.form);
  if (call_.form == Form::kStarted) return broadcast_by_first_ranks(Form::kStarted);
  if (bytes == 0) return;
  if (all_.size < kFewRanks || bytes < kShortBroadcast)
    return broadcast_by_first_ranks(Form::kBlocking);
  if (is_power_of_two(all_.size) && bytes < kLongBroadcast) return broadcast_by_parts();
  broadcast(all_, bytes, call_.root, Form::kBlocking);
}

// The root gives the data to the first rank of its node.
void OnNodes::broadcast_by_first_ranks(Form form) const {
  const std::uint64_t bytes = call_.operand.bytes();
  if (all_.rank == call_.root && !is_first()) mine_.send(0, bytes);
  if (is_first()) broadcast(first_, bytes, nodes_.node[call_.root], form);
  broadcast(mine_, bytes, 0, form);
}

void OnNodes::broadcast_by_parts() const {
  const std::uint64_t bytes = call_.operand.bytes();
  const int on_node = on_my_node(call_.root) ? nodes_.rank_on_node[call_.root] : -1;
  if (on_node > 0) broadcast(mine_, bytes, on_node, Form::kBlocking);
  if (is_first()) broadcast(first_, bytes, nodes_.node[call_.root], Form::kBlocking);
  if (on_node <= 0) broadcast(mine_, bytes, 0, Form::kBlocking);
}

void OnNodes::send_reduce() const {
  if (!composed() || !call_.operand.commutative)
    return reduce(all_, call_.operand, call_.root, call_.form);
  if (call_.form == Form::kStarted || call_.operand.bytes() <= kShortReduce)
    return reduce_towards_root();
  reduce_to_first();
}

void OnNodes::reduce_towards_root() const {
  const bool with_root = on_my_node(call_.root);
  if (!with_root) reduce(mine_, call_.operand, 0, call_.form);
  if (is_first()) reduce(first_, call_.operand, nodes_.node[call_.root], call_.form);
  if (with_root) reduce(mine_, call_.operand, nodes_.rank_on_node[call_.root], call_.form);
}

void OnNodes::reduce_to_first() const {
  reduce(mine_, call_.operand, 0, call_.form);
  if (is_first()) reduce(first_, call_.operand, 0, call_.form);
  if (all_.rank == 0 && call_.root != 0) all_.send(call_.root, call_.operand.bytes());
}

void OnNodes::send_allreduce() const {
  if (!composed() || single_node() || !call_.operand.commutative || call_.form == Form::kStarted)
    return allreduce(all_, call_.operand, call_.form);
  reduce(mine_, call_.operand, 0, call_.form);
  if (is_first()) allreduce(first_, call_.operand, Form::kBlocking);
  broadcast(mine_, call_.operand.bytes(), 0, Form::kBlocking);
}

void OnNodes::send_scan() const {
  constexpr std::uint64_t kFlagBytes = 4;
  const std::uint64_t bytes = call_.operand.bytes();
  const bool blocking = call_.form == Form::kBlocking;
  if (bytes == 0) return;
  if (!composed() || !nodes_.consecutive) return scan(all_, bytes);
  scan(mine_, bytes);
  if (!is_first() && mine_.rank == mine_.size - 1) mine_.send(0, bytes);
  if (is_first()) {
    scan(first_, bytes);
    if (first_.rank + 1 < first_.size) first_.send(first_.rank + 1, bytes);
  }
  if (blocking) broadcast(mine_, kFlagBytes, 0, Form::kBlocking);
  if (nodes_.node[all_.rank] != 0) broadcast(mine_, bytes, 0, call_.form);
}

}  // namespace ondeloc::mpich_model
