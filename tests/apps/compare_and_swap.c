// SPDX-License-Identifier: Apache-2.0
// All ranks but the first add to one number of rank 0 by MPI_Compare_and_swap until each has succeeded: they spin for each other,
// so the program shows whether ranks that share CPUs get in each other's way. Prints "took SECONDS s".
//   compare_and_swap [ROUNDS]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void add_one(MPI_Win window) {
  int seen = 0, expected, next;
  do {
    expected = seen;
    next = expected + 1;
    MPI_Compare_and_swap(&next, &expected, &seen, MPI_INT, 0, 0, window);
    MPI_Win_flush(0, window);
  } while (seen != expected);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 200;
  int rank = 0, ranks = 0;
  int* number = NULL;
  MPI_Win window;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &number, &window);
  *number = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < rounds; ++i) {
    if (rank != 0) {
      MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, window);
      add_one(window);
      MPI_Win_unlock(0, window);
    }
    MPI_Barrier(MPI_COMM_WORLD);
  }
  const double took = MPI_Wtime() - start;
  int wrong = 0;
  if (rank == 0) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    wrong = *number != rounds * (ranks - 1);
    MPI_Win_unlock(0, window);
    if (wrong) fprintf(stderr, "the number is %d, not %d\n", *number, rounds * (ranks - 1));
    else printf("took %.3f s\n", took);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return wrong;
}
