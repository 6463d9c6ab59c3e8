/* SPDX-License-Identifier: Apache-2.0
 * self_send [ROUNDS [COMMUNICATORS]]: a loop of small messages of a rank to itself, over so many
 * communicators in turn. Prints nanoseconds per message: the least of several blocks, since
 * everything else on the machine only adds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBlock = 20000, kMostComms = 64 };

static MPI_Comm comms[kMostComms];
static int comm_count = 1;

static double block_ns(void) {
  char out = 1, in = 0;
  const double start = MPI_Wtime();
  for (int i = 0, at = 0; i < kBlock; ++i, at = at + 1 < comm_count ? at + 1 : 0) {
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_CHAR, 0, 0, comms[at], &request);
    MPI_Send(&out, 1, MPI_CHAR, 0, 0, comms[at]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return (MPI_Wtime() - start) * 1e9 / kBlock;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 100;
  if (argc > 2) comm_count = atoi(argv[2]);
  if (comm_count < 1 || comm_count > kMostComms) {
    fprintf(stderr, "self_send: COMMUNICATORS must be 1 to %d\n", kMostComms);
    return 1;
  }
  MPI_Init(&argc, &argv);
  comms[0] = MPI_COMM_WORLD;
  for (int i = 1; i < comm_count; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
  double least = block_ns();
  for (int r = 1; r < rounds; ++r) {
    const double ns = block_ns();
    if (ns < least) least = ns;
  }
  printf("%.2f ns a message\n", least);
  MPI_Finalize();
  return 0;
}
