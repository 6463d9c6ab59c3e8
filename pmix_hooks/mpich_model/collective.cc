// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/mpich_model/collective.h"

#include "pmix_hooks/mpich_model/exchange.h"
#include "pmix_hooks/mpich_model/on_nodes.h"

namespace ondeloc::mpich_model {
namespace {

Group whole(const Communicator& communicator, const Sink& sink) {
  return {&sink, nullptr, communicator.size, communicator.rank};
}

// A rank that is not the root sends its block.
void gatherv(const Group& group, const Collective& call) {
  if (group.rank != call.root && call.operand.bytes() != 0)
    group.send(call.root, call.operand.bytes());
}

void scatterv(const Group& group, const Collective& call, int root) {
  if (group.rank != root) return;
  for (int to = 0; to < group.size; ++to)
    if (to != root && call.blocks[to] * call.operand.type_size != 0)
      group.send(to, call.blocks[to] * call.operand.type_size);
}

// The messages do not depend on nodes.
void send_flat(const Group& group, const Collective& call) {
  switch (call.kind) {
    case Kind::kExscan:
      return scan(group, call.operand.bytes());
    case Kind::kGather:
      return gather(group, call.operand.bytes(), call.root);
    case Kind::kGatherv:
      return gatherv(group, call);
    case Kind::kScatter:
      return scatter_blocks(group, call.operand.bytes(), call.root);
    case Kind::kScatterv:
      return scatterv(group, call, call.root);
    case Kind::kAllgather:
      return allgather(group, call.operand.bytes());
    case Kind::kAlltoall:
      return alltoall(group, call.operand.bytes(), call.in_place, call.form);
    case Kind::kReduceScatter:
      return reduce_scatter(group, call.blocks, call.operand, call.form);
    case Kind::kAllgatherv:
      return allgatherv(group, call.blocks, call.operand.type_size, call.pipeline_bytes, call.form);
    default:
      return;
  }
}

// Between two groups. The ranks of one group work as a communicator of their own, whose nodes MPICH
// knows, and its rank 0 exchanges with the other group.
class Between {
 public:
  Between(const Communicator& communicator, const Collective& call, const Sink& sink)
      : here_(whole(communicator, sink)),
        local_(communicator),
        others_(communicator.remote_size),
        call_(call),
        sink_(sink) {
    local_.remote_size = 0;
  }

  void send() const {
    const std::uint64_t bytes = call_.operand.bytes();
    switch (call_.kind) {
      case Kind::kBarrier:
        return barrier_between();
      case Kind::kBroadcast:
        return broadcast_between(bytes, call_.root);
      case Kind::kReduce:
        return reduce_between(call_.operand, call_.root);
      case Kind::kAllreduce:
        return allreduce_between();
      case Kind::kReduceScatter:
        return reduce_scatter_between();
      case Kind::kGather:
        return gather_between(bytes);
      case Kind::kGatherv:
        return to_root(bytes);
      case Kind::kScatter:
        return scatter_between(bytes);
      case Kind::kScatterv:
        return scatterv_between();
      case Kind::kAllgather:
        return allgather_between(bytes);
      case Kind::kAllgatherv:
        return allgatherv_between();
      case Kind::kAlltoall:
        return alltoall_between(bytes);
      default:
        return;
    }
  }

 private:
  static constexpr std::uint64_t kShort = 2048;  // of the table for gather and scatter

  bool leads() const { return here_.rank == 0; }
  bool is_started() const { return call_.form == Form::kStarted; }
  void to_other(int peer, std::uint64_t bytes) const { sink_.take(sink_.self, true, peer, bytes); }

  void in_parts(Kind kind, const Operand& operand, int root) const {
    Collective part = call_;
    part.kind = kind;
    part.operand = operand;
    part.root = root;
    OnNodes(local_, part, sink_).send();
  }
  // A blocking call broadcasts without regard to nodes.
  void broadcast_here(std::uint64_t bytes, int root) const {
    if (is_started())
      in_parts(Kind::kBroadcast, {bytes, 1, true, true}, root);
    else
      broadcast(here_, bytes, 0, call_.form);
  }
  // `root`: as MPI has it. MPICH passes it on as the root of the broadcast among the others, if the
  // call is started.
  void broadcast_between(std::uint64_t bytes, int root) const {
    if (root == kRootOfOthers) return to_other(0, bytes);
    if (root != kNoPart) broadcast_here(bytes, root < here_.size ? root : 0);
  }
  void barrier_between() const {
    in_parts(Kind::kBarrier, call_.operand, 0);
    if (leads()) to_other(0, 1);
    broadcast_here(1, 0);
  }
  void reduce_between(const Operand& operand, int root) const {
    if (root == kRootOfOthers || root == kNoPart) return;
    in_parts(Kind::kReduce, operand, 0);
    if (leads() && operand.count != 0) to_other(root, operand.bytes());
  }
  void allreduce_between() const {
    reduce_between(call_.operand, 0);
    in_parts(Kind::kBroadcast, call_.operand, 0);
  }
  void reduce_scatter_between() const {
    Operand all = call_.operand;
    all.count = call_.blocks.sum(0, here_.size);
    reduce_between(all, 0);
    if (!call_.blocks.are_given())
      scatter_blocks(here_, call_.blocks[0] * call_.operand.type_size, 0);
    else
      scatterv(here_, call_, 0);
  }
  void to_root(std::uint64_t bytes) const {
    if (call_.root >= 0 && bytes != 0) to_other(call_.root, bytes);
  }
  // MPICH compares the number of elements, not of bytes, with the limit.
  bool is_short(int size) const {
    return call_.operand.count * static_cast<std::uint64_t>(size) < kShort;
  }
  void gather_between(std::uint64_t bytes) const {
    if (call_.root < 0 || bytes == 0) return;
    if (!is_short(here_.size)) return to_root(bytes);
    gather(here_, bytes, 0);
    if (leads()) to_other(call_.root, bytes * static_cast<std::uint64_t>(here_.size));
  }
  void scatter_between(std::uint64_t bytes) const {
    if (bytes == 0 || call_.root == kNoPart) return;
    if (call_.root != kRootOfOthers) {
      if (is_short(here_.size)) scatter_blocks(here_, bytes, 0);
      return;
    }
    if (is_short(others_)) return to_other(0, bytes * static_cast<std::uint64_t>(others_));
    for (int peer = 0; peer < others_; ++peer) to_other(peer, bytes);
  }
  void scatterv_between() const {
    if (call_.root != kRootOfOthers) return;
    for (int peer = 0; peer < others_; ++peer)
      if (call_.blocks[peer] * call_.operand.type_size != 0)
        to_other(peer, call_.blocks[peer] * call_.operand.type_size);
  }
  void allgather_between(std::uint64_t bytes) const {
    if (bytes != 0) {
      gather(here_, bytes, 0);
      if (leads()) to_other(0, bytes * static_cast<std::uint64_t>(here_.size));
    }
    const std::uint64_t all = call_.received_bytes * static_cast<std::uint64_t>(others_);
    if (all != 0) broadcast_here(all, 0);
  }
  void allgatherv_between() const {
    if (call_.sent_bytes != 0) to_other(0, call_.sent_bytes);
    broadcast_here(call_.blocks.sum(0, others_) * call_.operand.type_size, 0);
  }
  void alltoall_between(std::uint64_t bytes) const {
    for (int peer = 0; bytes != 0 && peer < others_; ++peer) to_other(peer, bytes);
  }

  Group here_;
  Communicator local_;
  int others_;
  const Collective& call_;
  const Sink& sink_;
};

}  // namespace

void send_messages(const Communicator& communicator, const Collective& call, const Sink& sink) {
  if (communicator.remote_size > 0) return Between(communicator, call, sink).send();
  switch (call.kind) {
    case Kind::kBarrier:
    case Kind::kBroadcast:
    case Kind::kReduce:
    case Kind::kAllreduce:
    case Kind::kScan:
      return OnNodes(communicator, call, sink).send();
    default:
      return send_flat(whole(communicator, sink), call);
  }
}

}  // namespace ondeloc::mpich_model
