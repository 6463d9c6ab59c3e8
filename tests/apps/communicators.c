/* SPDX-License-Identifier: Apache-2.0
 * Messages on communicators that come and go: dup, split in several orders and sizes, Cartesian
 * with reorder, inter-communicators; freed and made again many times, so that addresses come back
 * with other ranks behind them; and at last more than a hundred alive at once.
 * communicators [ROUNDS [intra]]; intra: no inter-communicators. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "one_more.h"

static int rank, size;
static MPI_Group world;

static int world_rank_of(MPI_Group group, int member) {
  int result;
  MPI_Group_translate_ranks(group, 1, &member, world, &result);
  return result;
}

/* Every rank sends `bytes` to each other member (of the remote group of an inter-communicator). */
static void talk(MPI_Comm comm, int bytes) {
  static char out[512], in[64][512];
  MPI_Request receives[64];
  MPI_Group group;
  int inter, members, me;
  if (counts_dry()) return;
  MPI_Comm_test_inter(comm, &inter);
  MPI_Comm_rank(comm, &me);
  if (inter) {
    MPI_Comm_remote_group(comm, &group);
  } else {
    MPI_Comm_group(comm, &group);
  }
  MPI_Group_size(group, &members);
  for (int m = 0; m < members; ++m) MPI_Irecv(in[m], bytes, MPI_CHAR, m, 3, comm, &receives[m]);
  for (int m = 0; m < members; ++m) {
    MPI_Send(out, bytes, MPI_CHAR, m, 3, comm);
    counts_add(world_rank_of(group, m), bytes);
  }
  MPI_Waitall(members, receives, MPI_STATUSES_IGNORE);
  MPI_Group_free(&group);
}

static void split(int round) {
  MPI_Comm part, twin;
  /* The key turns the order round, so that rank m is another process each time. */
  MPI_Comm_split(MPI_COMM_WORLD, (rank + round) % 2, (rank * 7 + round * 3) % size, &part);
  talk(part, 10 + round % 7);
  MPI_Comm_dup(part, &twin);
  MPI_Comm_free(&part);
  talk(twin, 20 + round % 5);
  MPI_Comm_free(&twin);
}

static void cart(int round) {
  MPI_Comm grid;
  int dims[2] = {0, 0}, periods[2] = {1, round % 2};
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &grid);
  if (grid == MPI_COMM_NULL) return;
  talk(grid, 30);
  MPI_Comm_free(&grid);
}

static void between(int round) {
  MPI_Comm half, bridge;
  const int low = rank < size / 2;
  MPI_Comm_split(MPI_COMM_WORLD, low, low ? rank : -rank, &half);
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? size - 1 : 0, 50 + round, &bridge);
  talk(bridge, 40 + round % 3);
  MPI_Comm_free(&bridge);
  MPI_Comm_free(&half);
}

/* All communicators are alive at once and freed in another order each time; in one round the last
 * one used is freed last.
 */
static void crowd(int round) {
  enum { kMany = 120 };
  static const int steps[3] = {1, 7, 119};
  MPI_Comm part, comms[kMany];
  MPI_Comm_split(MPI_COMM_WORLD, 0, (rank * 5 + round) % size, &part);
  for (int i = 0; i < kMany; ++i) MPI_Comm_dup(i % 2 ? part : MPI_COMM_WORLD, &comms[i]);
  for (int i = 0; i < kMany; ++i) talk(comms[i], 60 + round);
  for (int i = 0; i < kMany; ++i) MPI_Comm_free(&comms[i * steps[round] % kMany]);
  talk(part, 70 + round);
  MPI_Comm_free(&part);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 40;
  const int inter = argc < 3 || strcmp(argv[2], "intra") != 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  counts_begin(rank, size);
  for (int round = 0; round < rounds; ++round) {
    talk(MPI_COMM_WORLD, 5);
    split(round);
    cart(round);
    if (size > 1 && inter) between(round);
  }
  for (int round = 0; round < 3; ++round) crowd(round);
  send_one_more();
  MPI_Group_free(&world);
  counts_end();
  MPI_Finalize();
  return 0;
}
