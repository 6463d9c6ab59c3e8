/* SPDX-License-Identifier: Apache-2.0
 * self_send [ROUNDS]: a loop of small messages of a rank to itself. Prints nanoseconds per message:
 * the least of several blocks, since everything else on the machine only adds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBlock = 20000 };

static double block_ns(void) {
  char out = 1, in = 0;
  const double start = MPI_Wtime();
  for (int i = 0; i < kBlock; ++i) {
    MPI_Request request;
    MPI_Irecv(&in, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
    MPI_Send(&out, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  }
  return (MPI_Wtime() - start) * 1e9 / kBlock;
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 100;
  MPI_Init(&argc, &argv);
  double least = block_ns();
  for (int r = 1; r < rounds; ++r) {
    const double ns = block_ns();
    if (ns < least) least = ns;
  }
  printf("%.2f ns a message\n", least);
  MPI_Finalize();
  return 0;
}
