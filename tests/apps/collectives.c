/* SPDX-License-Identifier: Apache-2.0
 * Collectives of several sizes, on the world and on halves of it. The MPI library chooses their
 * messages; the test compares with Open MPI's own monitoring. */
#include <mpi.h>
#include <stdlib.h>

#include "one_more.h"

enum { kMost = 20000 };

static double out[8 * kMost], in[8 * kMost];

static void all(MPI_Comm comm, int count) {
  int size;
  MPI_Comm_size(comm, &size);
  MPI_Request request;
  MPI_Barrier(comm);
  MPI_Bcast(out, count, MPI_DOUBLE, size - 1, comm);
  MPI_Allreduce(out, in, count, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Reduce(out, in, count, MPI_DOUBLE, MPI_MAX, 0, comm);
  MPI_Gather(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, 0, comm);
  MPI_Scatter(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, 0, comm);
  MPI_Allgather(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, comm);
  MPI_Alltoall(out, count, MPI_DOUBLE, in, count, MPI_DOUBLE, comm);
  MPI_Scan(out, in, count, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Reduce_scatter_block(out, in, count / size + 1, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Iallreduce(out, in, count, MPI_DOUBLE, MPI_SUM, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Ibcast(out, count, MPI_DOUBLE, 0, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int round = 0; round < 5; ++round) {
    all(MPI_COMM_WORLD, 1);
    all(MPI_COMM_WORLD, 500);
    all(MPI_COMM_WORLD, kMost);
    MPI_Comm_split(MPI_COMM_WORLD, (rank + round) % 2, -rank, &half);
    all(half, 300);
    MPI_Comm_free(&half);
  }
  send_one_more();
  MPI_Finalize();
  return 0;
}
