// SPDX-License-Identifier: Apache-2.0
// One call of a collective, read from its arguments. Positions are those of the blocking form; the
// started and the persistent form have more arguments behind them.
#pragma once

#include "pmix_hooks/mpich_model/collective.h"
#include "pmix_hooks/rank/interposed.h"
#include "pmix_hooks/rank/mpich_shapes.h"
#include "pmix_hooks/rank/type_sizes.h"

namespace ondeloc {

using mpich_model::Blocks;
using mpich_model::Collective;
using mpich_model::Form;
using mpich_model::Kind;

void send_as_modelled(const Shape& shape, const Collective& call);
void send_one_modelled(const Shape& shape, bool remote, int peer, std::uint64_t bytes);
std::uint64_t ring_pipeline_bytes();
bool is_commutative(Word operation);

inline Word comm_at(Word word) { return mpich_word(word); }
inline bool is_in_place(Word word) {
  return reinterpret_cast<std::uintptr_t>(word) == mpich_handles.in_place;
}
// The root in the numbers of the model.
inline int root_of(Word word) {
  const int root = int_of(word);
  if (root == mpich_handles.root) return mpich_model::kRootOfOthers;
  return root == mpich_handles.proc_null ? mpich_model::kNoPart : root;
}

// A call without data in it.
inline Collective empty_call(Kind kind, Form form) {
  return {kind, form, 0, false, {0, 1, true, true}, 0, 0, Blocks(0), 0};
}

// True if this rank sends nothing in a call between two groups: it stands beside the root, or is
// the root that receives. Its other arguments need not be given, and MPI aborts when it is asked
// for the size of a type that is none.
inline bool sends_nothing(const Shape& shape, const Collective& call) {
  if (shape.communicator.remote_size == 0) return false;
  if (call.root == mpich_model::kNoPart) return true;
  return call.root == mpich_model::kRootOfOthers &&
         (call.kind == Kind::kReduce || call.kind == Kind::kGather || call.kind == Kind::kGatherv);
}

// (buffer, count, type, root, comm)
template <bool kLarge>
struct Bcast {
  static constexpr int kComm = 4;
  static void read(const Word* words, Form form, const Shape& shape) {
    Collective call = empty_call(Kind::kBroadcast, form);
    call.root = root_of(words[3]);
    if (sends_nothing(shape, call)) return;
    call.operand = {count_of<kLarge>(words[1]), mpich_type_size(words[2]), true, true};
    send_as_modelled(shape, call);
  }
};

template <bool kLarge>
mpich_model::Operand operand_at(const Word* words) {
  return {count_of<kLarge>(words[2]), mpich_type_size(words[3]), mpich_is_predefined_op(words[4]),
          is_commutative(words[4])};
}

// (send, receive, count, type, operation, root, comm)
template <bool kLarge>
struct Reduce {
  static constexpr int kComm = 6;
  static void read(const Word* words, Form form, const Shape& shape) {
    Collective call = empty_call(Kind::kReduce, form);
    call.root = root_of(words[5]);
    if (sends_nothing(shape, call)) return;
    call.operand = operand_at<kLarge>(words);
    send_as_modelled(shape, call);
  }
};

// (send, receive, count, type, operation, comm)
template <Kind kKind, bool kLarge>
struct ReduceAll {
  static constexpr int kComm = 5;
  static void read(const Word* words, Form form, const Shape& shape) {
    Collective call = empty_call(kKind, form);
    call.operand = operand_at<kLarge>(words);
    if (kKind == Kind::kReduceScatter) call.blocks = Blocks(call.operand.count);
    send_as_modelled(shape, call);
  }
};

// (send, receive, counts, type, operation, comm)
template <bool kLarge>
struct ReduceScatter {
  static constexpr int kComm = 5;
  static void read(const Word* words, Form form, const Shape& shape) {
    Collective call = empty_call(Kind::kReduceScatter, form);
    call.operand = {0, mpich_type_size(words[3]), mpich_is_predefined_op(words[4]),
                    is_commutative(words[4])};
    call.blocks = Blocks(words[2], kLarge);
    send_as_modelled(shape, call);
  }
};

// (send, count, type, receive, count, type, [root,] comm): of the kinds that have equal blocks.
template <Kind kKind, bool kLarge>
struct EqualBlocks {
  static constexpr bool kRooted = kKind == Kind::kGather || kKind == Kind::kScatter;
  static constexpr int kComm = kRooted ? 7 : 6;
  static void read(const Word* words, Form form, const Shape& shape) {
    Collective call = empty_call(kKind, form);
    call.in_place = is_in_place(words[0]);
    if (kRooted) call.root = root_of(words[6]);
    if (kRooted && sends_nothing(shape, call)) return;
    const bool is_root = shape.communicator.remote_size > 0
                             ? call.root == mpich_model::kRootOfOthers
                             : call.root == shape.communicator.rank;
    // The arguments on the other side need not be given.
    bool from_receive = call.in_place;
    if (kKind == Kind::kScatter) from_receive = !is_root;
    if (kKind == Kind::kGather) from_receive = is_root;
    const int at = from_receive ? 4 : 1;
    call.operand.count = count_of<kLarge>(words[at]);
    call.operand.type_size = mpich_type_size(words[at + 1]);
    if (kKind == Kind::kAllgather)
      call.received_bytes = count_of<kLarge>(words[4]) * mpich_type_size(words[5]);
    send_as_modelled(shape, call);
  }
};

// (send, count, type, receive, counts, displacements, type, root, comm)
template <bool kLarge>
struct Gatherv {
  static constexpr int kComm = 8;
  static void read(const Word* words, Form form, const Shape& shape) {
    Collective call = empty_call(Kind::kGatherv, form);
    call.root = root_of(words[7]);
    if (call.root == shape.communicator.rank && shape.communicator.remote_size == 0) return;
    if (sends_nothing(shape, call)) return;
    call.operand.count = count_of<kLarge>(words[1]);
    call.operand.type_size = mpich_type_size(words[2]);
    send_as_modelled(shape, call);
  }
};

// (send, counts, displacements, type, receive, count, type, root, comm)
template <bool kLarge>
struct Scatterv {
  static constexpr int kComm = 8;
  static void read(const Word* words, Form form, const Shape& shape) {
    Collective call = empty_call(Kind::kScatterv, form);
    call.root = root_of(words[7]);
    const int root =
        shape.communicator.remote_size > 0 ? mpich_model::kRootOfOthers : shape.communicator.rank;
    if (call.root != root) return;
    call.blocks = Blocks(words[1], kLarge);
    call.operand.type_size = mpich_type_size(words[3]);
    send_as_modelled(shape, call);
  }
};

// (send, count, type, receive, counts, displacements, type, comm)
template <bool kLarge>
struct Allgatherv {
  static constexpr int kComm = 7;
  static void read(const Word* words, Form form, const Shape& shape) {
    Collective call = empty_call(Kind::kAllgatherv, form);
    call.blocks = Blocks(words[4], kLarge);
    call.operand.type_size = mpich_type_size(words[6]);
    if (shape.communicator.remote_size > 0)
      call.sent_bytes = count_of<kLarge>(words[1]) * mpich_type_size(words[2]);
    call.pipeline_bytes = ring_pipeline_bytes();
    send_as_modelled(shape, call);
  }
};

// (send, counts, displacements, type(s), receive, counts, displacements, type(s), comm): what a
// rank sends to each other stands in the arguments. `kTypes`: one type for each rank.
template <bool kTypes, bool kLarge>
struct Alltoallv {
  static constexpr int kComm = 8;
  static std::uint64_t bytes_to(const Word* words, int at, int peer) {
    const std::uint64_t count = Blocks(words[at], kLarge)[peer];
    if (count == 0) return 0;  // some programs give no type then
    if (!kTypes) return count * mpich_type_size(words[at + 2]);
    return count * mpich_type_size(mpich_handle_in(words[at + 2], static_cast<std::size_t>(peer)));
  }
  static void read(const Word* words, Form form, const Shape& shape) {
    const bool inter = shape.communicator.remote_size > 0, in_place = is_in_place(words[0]);
    const int peers = inter ? shape.communicator.remote_size : shape.communicator.size;
    for (int peer = 0; peer < peers; ++peer) {
      const std::uint64_t bytes = bytes_to(words, in_place ? 5 : 1, peer);
      // Some exchanges in pairs also send messages without data.
      if (bytes != 0 || in_place || (inter && form == Form::kBlocking))
        send_one_modelled(shape, inter, peer, bytes);
    }
  }
};

// (comm)
struct Barrier {
  static constexpr int kComm = 0;
  static void read(const Word*, Form form, const Shape& shape) {
    send_as_modelled(shape, empty_call(Kind::kBarrier, form));
  }
};

}  // namespace ondeloc
