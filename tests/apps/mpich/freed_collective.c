/* SPDX-License-Identifier: Apache-2.0
 * Four ranks start a persistent MPI_Allgatherv after its communicator and its datatype were freed:
 * each sends kBytes to its partner, and twice as many to the rank two further. Another
 * communicator, of pairs of ranks, gets the handle: there each rank sends kCalls messages of kBytes
 * to its partner. Prints a line if MPICH did not give the handle again: then the run tells nothing
 * of that. */
#include <mpi.h>
#include <stdio.h>

enum { kBytes = 100, kCalls = 1000, kRanks = 64 };

int main(int argc, char** argv) {
  static char out[kBytes], in[kRanks * kBytes];
  int counts[kRanks], places[kRanks], rank;
  MPI_Comm all, pair;
  MPI_Datatype block;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int r = 0; r < kRanks; ++r) {
    counts[r] = 1;
    places[r] = r;
  }
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  const MPI_Comm freed = all;
  MPI_Type_contiguous(kBytes, MPI_CHAR, &block);
  MPI_Type_commit(&block);
  MPI_Allgatherv_init(out, 1, block, in, counts, places, block, all, MPI_INFO_NULL, &request);
  MPI_Comm_free(&all);
  MPI_Type_free(&block);
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
