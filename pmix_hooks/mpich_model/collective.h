// SPDX-License-Identifier: Apache-2.0
// One call of a collective, and the messages that MPICH makes of it (group.h).
#pragma once

#include "pmix_hooks/mpich_model/reduction.h"

namespace ondeloc::mpich_model {

enum class Kind {
  kBarrier,
  kBroadcast,
  kReduce,
  kAllreduce,
  kReduceScatter,
  kScan,
  kExscan,
  kGather,
  kGatherv,
  kScatter,
  kScatterv,
  kAllgather,
  kAllgatherv,
  kAlltoall,
};

inline constexpr int kRootOfOthers = -3;  // MPI_ROOT: the root in an inter-communicator
inline constexpr int kNoPart = -1;        // MPI_PROC_NULL: beside the root

struct Collective {
  Kind kind;
  Form form;
  int root;
  bool in_place;    // the data of this rank lie in the receive buffer
  Operand operand;  // count: elements of one block, as this rank sends it
  // In an inter-communicator, whose two sides may count in different types:
  std::uint64_t received_bytes;  // of one block of kAllgather
  std::uint64_t sent_bytes;      // by this rank in kAllgatherv
  Blocks blocks;                 // kGatherv, kScatterv, kAllgatherv, kReduceScatter: in elements
  std::uint64_t pipeline_bytes;
};

void send_messages(const Communicator& communicator, const Collective& call, const Sink& sink);

}  // namespace ondeloc::mpich_model
