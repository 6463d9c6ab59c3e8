/* SPDX-License-Identifier: Apache-2.0
 * Two ranks in groups of their own call MPI_Allgatherv kCalls times. Rank 0 sends kBytes and
 * receives one element of kBlock bytes; rank 1 does the opposite. */
#include <mpi.h>

enum { kBytes = 999, kBlock = 1000, kCalls = 10 };

int main(int argc, char** argv) {
  static char out[kBlock], in[kBlock];
  int rank;
  MPI_Comm self, between;
  MPI_Datatype block;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_SELF, &self);
  MPI_Intercomm_create(self, 0, MPI_COMM_WORLD, 1 - rank, 0, &between);
  MPI_Type_contiguous(kBlock, MPI_CHAR, &block);
  MPI_Type_commit(&block);
  const int one = 1, bytes = kBytes, place = 0;
  for (int call = 0; call < kCalls; ++call) {
    if (rank == 0)
      MPI_Allgatherv(out, kBytes, MPI_CHAR, in, &one, &place, block, between);
    else
      MPI_Allgatherv(out, 1, block, in, &bytes, &place, MPI_CHAR, between);
  }
  MPI_Type_free(&block);
  MPI_Comm_free(&between);
  MPI_Comm_free(&self);
  MPI_Finalize();
  return 0;
}
