/* SPDX-License-Identifier: Apache-2.0
 * Collectives of the world, and what each rank says of them: the data that it gives to ranks that
 * need them, as if directly. An MPI library that makes messages of them sends others. */
#include <mpi.h>

#include "counts.h"

enum { kCount = 300, kRounds = 100 };

static double out[kCount], in[kCount];
static int rank, size;

static void say_to_all(long long bytes) {
  for (int to = 0; to < size; ++to)
    if (to != rank) counts_add(to, bytes);
}

static void broadcast(int root, int count) {
  MPI_Bcast(out, count, MPI_DOUBLE, root, MPI_COMM_WORLD);
  if (rank == root) say_to_all(count * 8LL);
}

static void reduce(int root, int count) {
  MPI_Reduce(out, in, count, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
  if (rank != root) counts_add(root, count * 8LL);
}

static void reduce_for_all(int count) {
  MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    say_to_all(count * 8LL);
  else
    counts_add(0, count * 8LL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  counts_begin(rank, size);
  MPI_Barrier(MPI_COMM_WORLD); /* a component may send messages to set itself up */
  for (int round = 0; round < kRounds; ++round) {
    broadcast(round % size, kCount);
    reduce(round % size, 7);
    reduce_for_all(1 + round);
  }
  counts_end();
  MPI_Finalize();
  return 0;
}
