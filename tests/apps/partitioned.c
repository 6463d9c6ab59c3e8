/* SPDX-License-Identifier: Apache-2.0
 * partitioned ROUNDS: partitioned sends between all ranks, their partitions marked ready one by
 * one, as a range and as a list. */
#include <mpi.h>
#include <stdlib.h>

#include "counts.h"

enum { kParts = 8, kMost = 64, kRanks = 16 };

static int out[kRanks][kParts * kMost], in[kRanks][kParts * kMost];

static void mark(MPI_Request send, int to, int count) {
  int list[] = {7, 4, 5};
  MPI_Pready(6, send);
  MPI_Pready_range(0, 3, send);
  MPI_Pready_list(3, list, send);
  for (int part = 0; part < kParts; ++part) counts_add(to, (long long)sizeof(int) * count);
}

int main(int argc, char** argv) {
  MPI_Request list[2 * kRanks];
  int rank, size, n = 0;
  const int rounds = argc > 1 ? atoi(argv[1]) : 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > kRanks) MPI_Abort(MPI_COMM_WORLD, 1);
  counts_begin(rank, size);
  for (int t = 1; t < size; ++t) {
    const int to = (rank + t) % size, from = (rank + size - t) % size;
    MPI_Psend_init(out[t], kParts, kMost - t, MPI_INT, to, t, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &list[n++]);
    MPI_Precv_init(in[t], kParts, kMost - t, MPI_INT, from, t, MPI_COMM_WORLD, MPI_INFO_NULL,
                   &list[n++]);
  }
  for (int round = 0; round < rounds; ++round) {
    MPI_Startall(n, list);
    for (int t = 1; t < size; ++t) mark(list[2 * (t - 1)], (rank + t) % size, kMost - t);
    MPI_Waitall(n, list, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < n; ++i) MPI_Request_free(&list[i]);
  counts_end();
  MPI_Finalize();
  return 0;
}
