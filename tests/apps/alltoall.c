/* SPDX-License-Identifier: Apache-2.0
 * alltoall and alltoallv only. Whatever algorithm sends each block by itself to its owner (linear,
 * pairwise), a rank sends exactly its blocks; the own block is copied. */
#include <mpi.h>
#include <stdlib.h>

#include "counts.h"

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  counts_begin(rank, size);
  const int most = 1000 * size;
  int* out = calloc((size_t)most, sizeof(int));
  int* in = calloc((size_t)most, sizeof(int));
  int* counts = malloc(4 * (size_t)size * sizeof(int));
  int *displacements = counts + size, *in_counts = counts + 2 * size,
      *in_displs = counts + 3 * size;
  for (int round = 0; round < 10; ++round) {
    const int block = 1 + 90 * round;
    MPI_Alltoall(out, block, MPI_INT, in, block, MPI_INT, MPI_COMM_WORLD);
    for (int d = 0; d < size; ++d) {
      if (d != rank) counts_add(d, 4LL * block);
      counts[d] = 1 + d + 10 * rank + round;
      in_counts[d] = 1 + rank + 10 * d + round;
      displacements[d] = in_displs[d] = 1000 * d;
    }
    MPI_Alltoallv(out, counts, displacements, MPI_INT, in, in_counts, in_displs, MPI_INT,
                  MPI_COMM_WORLD);
    for (int d = 0; d < size; ++d)
      if (d != rank) counts_add(d, 4LL * counts[d]);
  }
  counts_end();
  MPI_Finalize();
  return 0;
}
