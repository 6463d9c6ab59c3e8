/* SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <mpi.h>
#include <stdlib.h>

const char* const truth_forms[3] = {"blocking", "started", "persistent"};

const struct truth_case truth_cases[] = {
    {"barrier", kBarrier, kWorld, 0, kSum, 0},
    {"bcast", kBcast, kWorld, 0, kSum, 0},
    {"bcast_1", kBcast, kWorld, 1, kSum, 0},
    {"bcast_last", kBcast, kWorld, -1, kSum, 0},
    {"bcast_half", kBcast, kReversedHalf, -1, kSum, 0},
    {"reduce", kReduce, kWorld, 0, kSum, 0},
    {"reduce_1", kReduce, kWorld, 1, kSum, 0},
    {"reduce_last", kReduce, kWorld, -1, kSum, 0},
    {"reduce_own", kReduce, kWorld, 1, kOwnSum, 0},
    {"reduce_in_order", kReduce, kWorld, 1, kOwnInOrder, 0},
    {"allreduce", kAllreduce, kWorld, 0, kSum, 0},
    {"allreduce_in_place", kAllreduce, kWorld, 0, kSum, 1},
    {"allreduce_own", kAllreduce, kWorld, 0, kOwnSum, 0},
    {"allreduce_in_order", kAllreduce, kWorld, 0, kOwnInOrder, 0},
    {"allreduce_half", kAllreduce, kReversedHalf, 0, kSum, 0},
    {"scan", kScan, kWorld, 0, kSum, 0},
    {"scan_half", kScan, kReversedHalf, 0, kSum, 0},
    {"exscan", kExscan, kWorld, 0, kSum, 0},
    {"reduce_scatter", kReduceScatter, kWorld, 0, kSum, 0},
    {"reduce_scatter_in_order", kReduceScatter, kWorld, 0, kOwnInOrder, 0},
    {"reduce_scatter_block", kReduceScatterBlock, kWorld, 0, kSum, 0},
    {"reduce_scatter_block_in_order", kReduceScatterBlock, kWorld, 0, kOwnInOrder, 0},
    {"gather", kGather, kWorld, 0, kSum, 0},
    {"gather_last", kGather, kWorld, -1, kSum, 0},
    {"gatherv", kGatherv, kWorld, 1, kSum, 0},
    {"scatter", kScatter, kWorld, 0, kSum, 0},
    {"scatter_last", kScatter, kWorld, -1, kSum, 0},
    {"scatterv", kScatterv, kWorld, 1, kSum, 0},
    {"allgather", kAllgather, kWorld, 0, kSum, 0},
    {"allgather_in_place", kAllgather, kWorld, 0, kSum, 1},
    {"allgather_half", kAllgather, kReversedHalf, 0, kSum, 0},
    {"allgatherv", kAllgatherv, kWorld, 0, kSum, 0},
    {"alltoall", kAlltoall, kWorld, 0, kSum, 0},
    {"alltoall_in_place", kAlltoall, kWorld, 0, kSum, 1},
    {"alltoallv", kAlltoallv, kWorld, 0, kSum, 0},
    {"alltoallv_in_place", kAlltoallv, kWorld, 0, kSum, 1},
    {"alltoallw", kAlltoallw, kWorld, 0, kSum, 0},
    {"neighbor_allgather", kNeighborAllgather, kRing, 0, kSum, 0},
    {"neighbor_allgatherv", kNeighborAllgatherv, kGraph, 0, kSum, 0},
    {"neighbor_alltoall", kNeighborAlltoall, kRing, 0, kSum, 0},
    {"neighbor_alltoallv", kNeighborAlltoallv, kGraph, 0, kSum, 0},
    {"neighbor_alltoallw", kNeighborAlltoallw, kGraph, 0, kSum, 0},
    {"inter_barrier", kBarrier, kBetween, 0, kSum, 0},
    {"inter_bcast", kBcast, kBetween, 0, kSum, 0},
    {"inter_reduce", kReduce, kBetween, 0, kSum, 0},
    {"inter_allreduce", kAllreduce, kBetween, 0, kSum, 0},
    {"inter_gather", kGather, kBetween, 0, kSum, 0},
    {"inter_gatherv", kGatherv, kBetween, 0, kSum, 0},
    {"inter_scatter", kScatter, kBetween, 0, kSum, 0},
    {"inter_scatterv", kScatterv, kBetween, 0, kSum, 0},
    {"inter_allgather", kAllgather, kBetween, 0, kSum, 0},
    {"inter_allgatherv", kAllgatherv, kBetween, 0, kSum, 0},
    {"inter_alltoall", kAlltoall, kBetween, 0, kSum, 0},
    {"inter_alltoallv", kAlltoallv, kBetween, 0, kSum, 0},
    {"inter_reduce_scatter_block", kReduceScatterBlock, kBetween, 0, kSum, 0},
};
const int truth_case_count = sizeof(truth_cases) / sizeof(truth_cases[0]);

enum { kRanks = 64 };

static int world_rank, world_size;
static MPI_Comm comms[5];
static MPI_Op ops[3];

/* The case at hand. */
static const struct truth_case* here;
static int form, count, root, peers;
static MPI_Comm comm;
static MPI_Op op;
static char *out, *in;
static void* given; /* out, or MPI_IN_PLACE */
static int send_counts[kRanks], send_places[kRanks], counts[kRanks], places[kRanks];
static int send_bytes_at[kRanks], bytes_at[kRanks];
static MPI_Aint send_far[kRanks], far_places[kRanks];
static MPI_Datatype types[kRanks];
static MPI_Request request;

static void add(void* a, void* b, int* length, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *length; ++i) ((int*)b)[i] += ((int*)a)[i];
}

static void make_ring(void) {
  const int periodic = 0;
  MPI_Cart_create(MPI_COMM_WORLD, 1, &world_size, &periodic, 0, &comms[kRing]);
}

/* To the next one, and from each third rank to rank 0 as well. */
static void make_graph(void) {
  int from[kRanks], to[2], n_from = 0, n_to = 0;
  from[n_from++] = (world_rank + world_size - 1) % world_size;
  to[n_to++] = (world_rank + 1) % world_size;
  if (world_rank % 3 == 0) to[n_to++] = 0;
  if (world_rank == 0)
    for (int r = 0; r < world_size; r += 3) from[n_from++] = r;
  MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, n_from, from, MPI_UNWEIGHTED, n_to, to,
                                 MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comms[kGraph]);
}

void truth_setup(void) {
  MPI_Comm half;
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  comms[kWorld] = MPI_COMM_WORLD;
  MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, -world_rank, &comms[kReversedHalf]);
  make_ring();
  make_graph();
  /* Unequal sides: one of a third. */
  const int low = world_rank < (world_size + 2) / 3;
  MPI_Comm_split(MPI_COMM_WORLD, low, world_rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? (world_size + 2) / 3 : 0, 5,
                       &comms[kBetween]);
  MPI_Comm_free(&half);
  ops[kSum] = MPI_SUM;
  MPI_Op_create(add, 1, &ops[kOwnSum]);
  MPI_Op_create(add, 0, &ops[kOwnInOrder]);
}

void truth_cleanup(void) {
  for (int c = kReversedHalf; c <= kBetween; ++c) MPI_Comm_free(&comms[c]);
  MPI_Op_free(&ops[kOwnSum]);
  MPI_Op_free(&ops[kOwnInOrder]);
}

/* What rank a sends to rank b: both know it. Some get nothing. */
static int uneven(int a, int b) { return (a + 2 * b) % 4 == 3 ? 0 : count + (a + b) % 3; }

static void set_counts(int me) {
  const int most = count + 3;
  const int to_each = here->kind == kAlltoallv || here->kind == kAlltoallw ||
                      here->kind == kNeighborAlltoallv || here->kind == kNeighborAlltoallw;
  for (int r = 0; r < peers && r < kRanks; ++r) {
    send_counts[r] = to_each ? uneven(me, r) : count + r % 3;
    counts[r] = to_each ? uneven(r, me) : count + r % 3;
    if (to_each && (here->in_place || here->comm == kGraph)) send_counts[r] = counts[r] = count;
    if (here->kind == kReduceScatter && here->op == kOwnInOrder) counts[r] = count;
    send_places[r] = places[r] = r * most;
    send_bytes_at[r] = bytes_at[r] = r * most * 4;
    send_far[r] = far_places[r] = (MPI_Aint)r * most * 4;
    types[r] = here->kind == kAlltoallw && send_counts[r] == 0 && counts[r] == 0 ? MPI_DATATYPE_NULL
                                                                                 : MPI_INT;
  }
}

static void set_root(int me) {
  root = here->root < 0 ? peers + here->root : here->root % peers;
  if (here->comm != kBetween) return;
  const int low = world_rank < (world_size + 2) / 3;
  if (low) root = me == 0 ? MPI_ROOT : MPI_PROC_NULL;
}

static int mine(void) { /* of what this rank gives to a v-collective */
  int me;
  MPI_Comm_rank(comm, &me);
  return count + me % 3;
}

#define CALL(UPPER, LOWER, ...)                                              \
  do {                                                                       \
    if (form == 0) MPI_##UPPER(__VA_ARGS__);                                 \
    if (form == 1) MPI_I##LOWER(__VA_ARGS__, &request);                      \
    if (form == 2) MPI_##UPPER##_init(__VA_ARGS__, MPI_INFO_NULL, &request); \
  } while (0)

static void call_reduction(void) {
  switch (here->kind) {
    case kReduce:
      CALL(Reduce, reduce, out, in, count, MPI_INT, op, root, comm);
      break;
    case kAllreduce:
      CALL(Allreduce, allreduce, given, in, count, MPI_INT, op, comm);
      break;
    case kScan:
      CALL(Scan, scan, out, in, count, MPI_INT, op, comm);
      break;
    case kExscan:
      CALL(Exscan, exscan, out, in, count, MPI_INT, op, comm);
      break;
    case kReduceScatter:
      CALL(Reduce_scatter, reduce_scatter, out, in, counts, MPI_INT, op, comm);
      break;
    default:
      CALL(Reduce_scatter_block, reduce_scatter_block, out, in, count, MPI_INT, op, comm);
  }
}

/* Between two groups, a program need not give the arguments of a side that sends or receives
 * nothing. */
static void call_rooted(void) {
  const int between = here->comm == kBetween;
  const MPI_Datatype of_root = between && root != MPI_ROOT ? MPI_DATATYPE_NULL : MPI_INT;
  const MPI_Datatype of_others = between && root < 0 ? MPI_DATATYPE_NULL : MPI_INT;
  switch (here->kind) {
    case kBcast:
      CALL(Bcast, bcast, out, count, MPI_INT, root, comm);
      break;
    case kGather:
      CALL(Gather, gather, out, count, of_others, in, count, of_root, root, comm);
      break;
    case kGatherv:
      CALL(Gatherv, gatherv, out, mine(), of_others, in, counts, places, of_root, root, comm);
      break;
    case kScatter:
      CALL(Scatter, scatter, out, count, of_root, in, count, of_others, root, comm);
      break;
    default:
      CALL(Scatterv, scatterv, out, counts, places, of_root, in, mine(), of_others, root, comm);
  }
}

static void call_all(void) {
  switch (here->kind) {
    case kBarrier:
      CALL(Barrier, barrier, comm);
      break;
    case kAllgather:
      CALL(Allgather, allgather, given, count, MPI_INT, in, count, MPI_INT, comm);
      break;
    case kAllgatherv:
      CALL(Allgatherv, allgatherv, out, mine(), MPI_INT, in, counts, places, MPI_INT, comm);
      break;
    case kAlltoall:
      CALL(Alltoall, alltoall, given, count, MPI_INT, in, count, MPI_INT, comm);
      break;
    case kAlltoallv:
      CALL(Alltoallv, alltoallv, given, send_counts, send_places, MPI_INT, in, counts, places,
           MPI_INT, comm);
      break;
    default:
      CALL(Alltoallw, alltoallw, out, send_counts, send_bytes_at, types, in, counts, bytes_at,
           types, comm);
  }
}

static void call_neighbours(void) {
  switch (here->kind) {
    case kNeighborAllgather:
      CALL(Neighbor_allgather, neighbor_allgather, out, count, MPI_INT, in, count, MPI_INT, comm);
      break;
    case kNeighborAllgatherv:
      CALL(Neighbor_allgatherv, neighbor_allgatherv, out, count, MPI_INT, in, send_counts, places,
           MPI_INT, comm);
      break;
    case kNeighborAlltoall:
      CALL(Neighbor_alltoall, neighbor_alltoall, out, count, MPI_INT, in, count, MPI_INT, comm);
      break;
    case kNeighborAlltoallv:
      CALL(Neighbor_alltoallv, neighbor_alltoallv, out, send_counts, send_places, MPI_INT, in,
           counts, places, MPI_INT, comm);
      break;
    default:
      CALL(Neighbor_alltoallw, neighbor_alltoallw, out, send_counts, send_far, types, in, counts,
           far_places, types, comm);
  }
}

static void call(void) {
  if (here->kind >= kNeighborAllgather) return call_neighbours();
  if (here->kind == kBcast || (here->kind >= kGather && here->kind <= kScatterv))
    return call_rooted();
  if (here->kind >= kReduce && here->kind <= kReduceScatterBlock) return call_reduction();
  call_all();
}

/* Both groups of an inter-communicator reduce vectors of one length: their sizes times their counts
 * are equal. */
static void fit_between(void) {
  if (here->comm == kBetween && here->kind == kReduceScatterBlock) count *= peers;
}

void truth_prepare(const struct truth_case* one, int bytes, int how) {
  int me, inter;
  here = one;
  form = how;
  comm = comms[one->comm];
  op = ops[one->op];
  count = bytes / 4;
  MPI_Comm_rank(comm, &me);
  MPI_Comm_test_inter(comm, &inter);
  (inter ? MPI_Comm_remote_size : MPI_Comm_size)(comm, &peers);
  fit_between();
  const size_t room = (size_t)(count + 4) * 4 * (size_t)(world_size + 2);
  out = calloc(1, room);
  in = calloc(1, room);
  given = one->in_place ? MPI_IN_PLACE : out;
  set_counts(me);
  if (one->kind == kNeighborAllgatherv)
    for (int r = 0; r < kRanks; ++r) send_counts[r] = count;
  set_root(me);
  if (form == 2) call();
}

void truth_run(void) {
  if (form == 2)
    MPI_Start(&request);
  else
    call();
  if (form != 0) MPI_Wait(&request, MPI_STATUS_IGNORE);
}

void truth_finish(void) {
  if (form == 2) MPI_Request_free(&request);
  free(out);
  free(in);
}
