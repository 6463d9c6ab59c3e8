// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/mpich_collectives.h"

#include "pmix_hooks/rank/mpich_neighbourhood.h"
#include "pmix_hooks/rank/mpich_requests.h"
#include "pmix_hooks/rank/persistent.h"
#include "pmix_hooks/rank/unseen_collectives.h"

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

// The blocking form, whose first calls are watched under Open MPI, and all further ones if a call
// was not made of messages and has data to count. `Reader` reads the arguments of such a call.
template <class Call, class Reader>
struct ModelledOrWatched : Modelled<Call, Form::kBlocking> {
  static constexpr int kWatchedCalls = 64;
  static bool is_watched(MpiFamily family) {
    return family == MpiFamily::kOpenMpi &&
           ((Reader::kHasData && was_unseen.load(std::memory_order_relaxed)) ||
            (calls.load(std::memory_order_relaxed) < kWatchedCalls &&
             calls.fetch_add(1, std::memory_order_relaxed) < kWatchedCalls));
  }
  static void watch(const Word* words, std::uint64_t messages) {
    if (messages == 0 && count_if_unseen(words[Call::kComm], Reader::read, words))
      was_unseen.store(true, std::memory_order_relaxed);
  }

 private:
  static inline constinit std::atomic<int> calls{0};
  static inline constinit std::atomic<bool> was_unseen{false};
};

std::uint64_t bytes_at(const Word* words, int at) {
  return count_of<false>(words[at]) * type_size(words[at + 1]);
}

bool takes_from_receive(const Word* words) {  // MPI_IN_PLACE of Open MPI, of the standard as well
  return reinterpret_cast<std::uintptr_t>(words[0]) == standard_abi::kInPlace;
}

struct WithData {
  static constexpr bool kHasData = true;
};
struct WatchedBarrier {
  static constexpr bool kHasData = false;
  static WatchedCall read(const Word* words) { return {DataPath::kNone, 0, 0, words[0]}; }
};
struct WatchedBcast : WithData {
  static WatchedCall read(const Word* words) {
    return {DataPath::kFromRoot, int_of(words[3]), bytes_at(words, 1), words[4]};
  }
};
struct WatchedReduce : WithData {
  static WatchedCall read(const Word* words) {
    return {DataPath::kToRoot, int_of(words[5]), bytes_at(words, 2), words[6]};
  }
};
struct WatchedAllreduce : WithData {
  static WatchedCall read(const Word* words) {
    return {DataPath::kByFirst, 0, bytes_at(words, 2), words[5]};
  }
};
struct WatchedToAll : WithData {  // Allgather and Alltoall
  static WatchedCall read(const Word* words) {
    return {DataPath::kToAll, 0, bytes_at(words, takes_from_receive(words) ? 4 : 1), words[6]};
  }
};

// The persistent form: each start is counted as a started call.
template <class Call, int kRequest>
struct ModelledInit : CountedInMpich {
  static void count(const Word* words) {
    mpich_remember_call(words[kRequest], Modelled<Call, Form::kStarted>::count, words);
  }
};

}  // namespace
}  // namespace ondeloc

using namespace ondeloc;  // NOLINT: names of this file's classes, in macros

// NAME in all forms, ARGUMENTS of the blocking one and the next three numbers.
#define ONDELOC_COLLECTIVE(NAME, SMALL, SUFFIX, A, A1, A2, ...)              \
  ONDELOC_INTERPOSE(NAME##SUFFIX, A, Modelled<__VA_ARGS__, Form::kBlocking>) \
  ONDELOC_NONBLOCKING(NAME, SMALL, SUFFIX, A1, A2, __VA_ARGS__)
#define ONDELOC_WATCHED(NAME, SMALL, A, A1, A2, READER, ...)         \
  ONDELOC_INTERPOSE(NAME, A, ModelledOrWatched<__VA_ARGS__, READER>) \
  ONDELOC_NONBLOCKING(NAME, SMALL, , A1, A2, __VA_ARGS__)
#define ONDELOC_NONBLOCKING(NAME, SMALL, SUFFIX, A1, A2, ...)                    \
  ONDELOC_INTERPOSE(I##SMALL##SUFFIX, A1, Modelled<__VA_ARGS__, Form::kStarted>) \
  ONDELOC_INTERPOSE(NAME##_init##SUFFIX, A2, ModelledInit<__VA_ARGS__, A1>)

ONDELOC_WATCHED(Barrier, barrier, 1, 2, 3, WatchedBarrier, Barrier)
ONDELOC_WATCHED(Bcast, bcast, 5, 6, 7, WatchedBcast, Bcast<false>)
ONDELOC_COLLECTIVE(Bcast, bcast, _c, 5, 6, 7, Bcast<true>)
ONDELOC_WATCHED(Reduce, reduce, 7, 8, 9, WatchedReduce, Reduce<false>)
ONDELOC_COLLECTIVE(Reduce, reduce, _c, 7, 8, 9, Reduce<true>)
ONDELOC_WATCHED(Allreduce, allreduce, 6, 7, 8, WatchedAllreduce, ReduceAll<Kind::kAllreduce, false>)
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
ONDELOC_WATCHED(Allgather, allgather, 7, 8, 9, WatchedToAll, EqualBlocks<Kind::kAllgather, false>)
ONDELOC_COLLECTIVE(Allgather, allgather, _c, 7, 8, 9, EqualBlocks<Kind::kAllgather, true>)
ONDELOC_COLLECTIVE(Allgatherv, allgatherv, , 8, 9, 10, Allgatherv<false>)
ONDELOC_COLLECTIVE(Allgatherv, allgatherv, _c, 8, 9, 10, Allgatherv<true>)
ONDELOC_WATCHED(Alltoall, alltoall, 7, 8, 9, WatchedToAll, EqualBlocks<Kind::kAlltoall, false>)
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
