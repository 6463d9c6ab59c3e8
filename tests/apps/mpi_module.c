// SPDX-License-Identifier: Apache-2.0
// Stands for a Python module that uses MPI: a library that is linked with MPI.
#include <mpi.h>
#include <stdio.h>

int begin(void) { return MPI_Init(NULL, NULL); }

int use(void) {
  int size;
  return MPI_Comm_size(MPI_COMM_WORLD, &size) || MPI_Barrier(MPI_COMM_WORLD) ||
         printf("of %d\n", size) < 0;
}

int end(void) { return MPI_Finalize(); }
