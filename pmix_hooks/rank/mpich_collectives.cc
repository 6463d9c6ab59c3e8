// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/mpich_collectives.h"

#include "pmix_hooks/rank/mpich_neighbourhood.h"
#include "pmix_hooks/rank/mpich_requests.h"
#include "pmix_hooks/rank/persistent.h"

namespace ondeloc {
namespace {

// The blocking and the started form: counted when the call has returned.
template <class Call, Form kForm>
struct Modelled : CountedInMpich {
  static void count(const Word* words) {
    const Shape* shape = shape_of(comm_at(words[Call::kComm]));
    if (shape != nullptr) Call::read(words, kForm, *shape);
  }
};

// The blocking form, whose first calls are watched under Open MPI. `Sender` tells who has to send.
template <class Call, class Sender>
struct ModelledOrWatched : Modelled<Call, Form::kBlocking> {
  static constexpr int kWatchedCalls = 64;
  static bool is_watched(MpiFamily family) {
    static constinit std::atomic<int> calls{0};
    return family == MpiFamily::kOpenMpi && calls.load(std::memory_order_relaxed) < kWatchedCalls &&
           calls.fetch_add(1, std::memory_order_relaxed) < kWatchedCalls;
  }
  static void watch(const Word* words, std::uint64_t messages) {
    if (Sender::sends(words))
      collective_was_watched(words[Call::kComm], Sender::root(words), messages);
  }
};

struct EveryRank {
  static bool sends(const Word*) { return true; }
  static int root(const Word*) { return -1; }
};
struct EveryRankOfReduction : EveryRank {
  static bool sends(const Word* words) { return int_of(words[2]) > 0; }
};
struct RootOfBroadcast {
  static bool sends(const Word* words) { return int_of(words[1]) > 0; }
  static int root(const Word* words) { return int_of(words[3]); }
};

// The persistent form: the arguments are kept, and each start is counted as a started call.
template <class Call, int kRequest>
struct ModelledInit : CountedInMpich {
  static void count(const Word* words) {
    mpich_remember_call(words[kRequest], Modelled<Call, Form::kStarted>::count, words,
                        kRequest + 1);
  }
};

}  // namespace
}  // namespace ondeloc

using namespace ondeloc;  // NOLINT: names of this file's classes, in macros

// NAME in all forms, ARGUMENTS of the blocking one and the next three numbers.
#define ONDELOC_COLLECTIVE(NAME, SMALL, SUFFIX, A, A1, A2, ...)              \
  ONDELOC_INTERPOSE(NAME##SUFFIX, A, Modelled<__VA_ARGS__, Form::kBlocking>) \
  ONDELOC_NONBLOCKING(NAME, SMALL, SUFFIX, A1, A2, __VA_ARGS__)
#define ONDELOC_WATCHED(NAME, SMALL, A, A1, A2, SENDER, ...)         \
  ONDELOC_INTERPOSE(NAME, A, ModelledOrWatched<__VA_ARGS__, SENDER>) \
  ONDELOC_NONBLOCKING(NAME, SMALL, , A1, A2, __VA_ARGS__)
#define ONDELOC_NONBLOCKING(NAME, SMALL, SUFFIX, A1, A2, ...)                    \
  ONDELOC_INTERPOSE(I##SMALL##SUFFIX, A1, Modelled<__VA_ARGS__, Form::kStarted>) \
  ONDELOC_INTERPOSE(NAME##_init##SUFFIX, A2, ModelledInit<__VA_ARGS__, A1>)

ONDELOC_WATCHED(Barrier, barrier, 1, 2, 3, EveryRank, Barrier)
ONDELOC_WATCHED(Bcast, bcast, 5, 6, 7, RootOfBroadcast, Bcast<false>)
ONDELOC_COLLECTIVE(Bcast, bcast, _c, 5, 6, 7, Bcast<true>)
ONDELOC_COLLECTIVE(Reduce, reduce, , 7, 8, 9, Reduce<false>)
ONDELOC_COLLECTIVE(Reduce, reduce, _c, 7, 8, 9, Reduce<true>)
ONDELOC_WATCHED(Allreduce, allreduce, 6, 7, 8, EveryRankOfReduction,
                ReduceAll<Kind::kAllreduce, false>)
ONDELOC_COLLECTIVE(Allreduce, allreduce, _c, 6, 7, 8, ReduceAll<Kind::kAllreduce, true>)
ONDELOC_COLLECTIVE(Scan, scan, , 6, 7, 8, ReduceAll<Kind::kScan, false>)
ONDELOC_COLLECTIVE(Scan, scan, _c, 6, 7, 8, ReduceAll<Kind::kScan, true>)
ONDELOC_COLLECTIVE(Exscan, exscan, , 6, 7, 8, ReduceAll<Kind::kExscan, false>)
ONDELOC_COLLECTIVE(Exscan, exscan, _c, 6, 7, 8, ReduceAll<Kind::kExscan, true>)
ONDELOC_COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, , 6, 7, 8,
                   ReduceAll<Kind::kReduceScatter, false>)
ONDELOC_COLLECTIVE(Reduce_scatter_block, reduce_scatter_block, _c, 6, 7, 8,
                   ReduceAll<Kind::kReduceScatter, true>)
ONDELOC_COLLECTIVE(Reduce_scatter, reduce_scatter, , 6, 7, 8, ReduceScatter<false>)
ONDELOC_COLLECTIVE(Reduce_scatter, reduce_scatter, _c, 6, 7, 8, ReduceScatter<true>)
ONDELOC_COLLECTIVE(Gather, gather, , 8, 9, 10, EqualBlocks<Kind::kGather, false>)
ONDELOC_COLLECTIVE(Gather, gather, _c, 8, 9, 10, EqualBlocks<Kind::kGather, true>)
ONDELOC_COLLECTIVE(Scatter, scatter, , 8, 9, 10, EqualBlocks<Kind::kScatter, false>)
ONDELOC_COLLECTIVE(Scatter, scatter, _c, 8, 9, 10, EqualBlocks<Kind::kScatter, true>)
ONDELOC_COLLECTIVE(Gatherv, gatherv, , 9, 10, 11, Gatherv<false>)
ONDELOC_COLLECTIVE(Gatherv, gatherv, _c, 9, 10, 11, Gatherv<true>)
ONDELOC_COLLECTIVE(Scatterv, scatterv, , 9, 10, 11, Scatterv<false>)
ONDELOC_COLLECTIVE(Scatterv, scatterv, _c, 9, 10, 11, Scatterv<true>)
ONDELOC_COLLECTIVE(Allgather, allgather, , 7, 8, 9, EqualBlocks<Kind::kAllgather, false>)
ONDELOC_COLLECTIVE(Allgather, allgather, _c, 7, 8, 9, EqualBlocks<Kind::kAllgather, true>)
ONDELOC_COLLECTIVE(Allgatherv, allgatherv, , 8, 9, 10, Allgatherv<false>)
ONDELOC_COLLECTIVE(Allgatherv, allgatherv, _c, 8, 9, 10, Allgatherv<true>)
ONDELOC_COLLECTIVE(Alltoall, alltoall, , 7, 8, 9, EqualBlocks<Kind::kAlltoall, false>)
ONDELOC_COLLECTIVE(Alltoall, alltoall, _c, 7, 8, 9, EqualBlocks<Kind::kAlltoall, true>)
ONDELOC_COLLECTIVE(Alltoallv, alltoallv, , 9, 10, 11, Alltoallv<false, false>)
ONDELOC_COLLECTIVE(Alltoallv, alltoallv, _c, 9, 10, 11, Alltoallv<false, true>)
ONDELOC_COLLECTIVE(Alltoallw, alltoallw, , 9, 10, 11, Alltoallv<true, false>)
ONDELOC_COLLECTIVE(Alltoallw, alltoallw, _c, 9, 10, 11, Alltoallv<true, true>)
ONDELOC_COLLECTIVE(Neighbor_allgather, neighbor_allgather, , 7, 8, 9, NeighbourAllgather<false>)
ONDELOC_COLLECTIVE(Neighbor_allgather, neighbor_allgather, _c, 7, 8, 9, NeighbourAllgather<true>)
ONDELOC_COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv, , 8, 9, 10, NeighbourAllgatherv<false>)
ONDELOC_COLLECTIVE(Neighbor_allgatherv, neighbor_allgatherv, _c, 8, 9, 10,
                   NeighbourAllgatherv<true>)
ONDELOC_COLLECTIVE(Neighbor_alltoall, neighbor_alltoall, , 7, 8, 9, NeighbourAlltoall<false>)
ONDELOC_COLLECTIVE(Neighbor_alltoall, neighbor_alltoall, _c, 7, 8, 9, NeighbourAlltoall<true>)
ONDELOC_COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv, , 9, 10, 11,
                   NeighbourAlltoallv<false, false>)
ONDELOC_COLLECTIVE(Neighbor_alltoallv, neighbor_alltoallv, _c, 9, 10, 11,
                   NeighbourAlltoallv<false, true>)
ONDELOC_COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw, , 9, 10, 11,
                   NeighbourAlltoallv<true, false>)
ONDELOC_COLLECTIVE(Neighbor_alltoallw, neighbor_alltoallw, _c, 9, 10, 11,
                   NeighbourAlltoallv<true, true>)
