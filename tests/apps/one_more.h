/* SPDX-License-Identifier: Apache-2.0
 *
 * The known miscount for programs whose messages the MPI library chooses: with COUNT_ONE_MORE in
 * the environment rank 0 sends one message of one byte more to rank 1. */
#ifndef ONDELOC_TESTS_APPS_ONE_MORE_H
#define ONDELOC_TESTS_APPS_ONE_MORE_H

#include <mpi.h>
#include <stdlib.h>

static inline void send_one_more(void) {
  char byte = 0;
  int rank;
  if (getenv("COUNT_ONE_MORE") == NULL) return;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) MPI_Send(&byte, 1, MPI_CHAR, 1, 77, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&byte, 1, MPI_CHAR, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

#endif
