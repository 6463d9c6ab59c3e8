/* SPDX-License-Identifier: Apache-2.0
 * Uses a communicator for the first time while the process cannot get more memory.
 * Rank 0 sends rank 1 MESSAGES on it, all but the first with the limit gone, and as many on another
 * one. */
#include <mpi.h>
#include <stdio.h>
#include <sys/resource.h>

enum { MESSAGES = 50 };

static struct rlimit limit_now(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_AS, &limit);
  return limit;
}

static unsigned long size_now(void) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%lu", &pages) != 1) MPI_Abort(MPI_COMM_WORLD, 1);
  fclose(file);
  return pages * 4096;
}

static void send_one(int rank, MPI_Comm comm) {
  char byte = 0;
  if (rank == 0) MPI_Send(&byte, 1, MPI_BYTE, 1, 0, comm);
  if (rank == 1) MPI_Recv(&byte, 1, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
}

int main(int argc, char** argv) {
  int rank;
  MPI_Comm short_of, enough;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &short_of);
  MPI_Comm_dup(MPI_COMM_WORLD, &enough);
  send_one(rank, MPI_COMM_WORLD); /* Open MPI has allocated its memory for a first message */
  const struct rlimit before = limit_now();
  struct rlimit none = before;
  none.rlim_cur = size_now();
  if (rank == 0) setrlimit(RLIMIT_AS, &none);
  send_one(rank, short_of);
  setrlimit(RLIMIT_AS, &before);
  for (int i = 1; i < MESSAGES; ++i) send_one(rank, short_of);
  for (int i = 0; i < MESSAGES; ++i) send_one(rank, enough);
  MPI_Comm_free(&short_of);
  MPI_Comm_free(&enough);
  MPI_Finalize();
  return 0;
}
