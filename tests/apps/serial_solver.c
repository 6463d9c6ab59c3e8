// SPDX-License-Identifier: Apache-2.0
// Stands for a sequential build of MUMPS or LAMMPS, which contains an MPI for one process. Each
// call prints its number.
#include <stdio.h>

int MPI_Init(int *argc, char ***argv) {
  (void)argc, (void)argv;
  return printf("1 ") < 0;
}

int MPI_Comm_rank(int comm, int *rank) {
  (void)comm;
  *rank = 0;
  return printf("2 ") < 0;
}

int MPI_Finalize(void) { return printf("3\n") < 0; }

int solve(void) {
  int rank;
  return MPI_Init(NULL, NULL) || MPI_Comm_rank(0, &rank) || MPI_Finalize();
}
