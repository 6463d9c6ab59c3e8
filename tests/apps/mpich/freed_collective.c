/* SPDX-License-Identifier: Apache-2.0
 * A persistent collective starts after its communicator was freed, and another communicator, of
 * pairs of ranks, gets the handle. Then each rank sends kCalls messages of kBytes to its partner.
 * Prints a line if MPICH did not give the handle again: then the run tells nothing of that. */
#include <mpi.h>
#include <stdio.h>

enum { kBytes = 100, kCalls = 1000, kRanks = 64 };

int main(int argc, char** argv) {
  static char out[kBytes], in[kRanks * kBytes];
  int counts[kRanks], places[kRanks], rank;
  MPI_Comm all, pair;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int r = 0; r < kRanks; ++r) {
    counts[r] = kBytes;
    places[r] = r * kBytes;
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  const MPI_Comm freed = all;
  MPI_Allgatherv_init(out, kBytes, MPI_CHAR, in, counts, places, MPI_CHAR, all, MPI_INFO_NULL,
                      &request);
  MPI_Comm_free(&all);
  MPI_Start(&request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Request_free(&request);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, rank, &pair);
  const int is_reused = pair == freed;
  for (int call = 0; call < kCalls; ++call)
    MPI_Allgather(out, kBytes, MPI_CHAR, in, kBytes, MPI_CHAR, pair);
  MPI_Comm_free(&pair);
  MPI_Finalize();
  if (!is_reused) printf("freed_collective: another handle\n");
  return 0;
}
