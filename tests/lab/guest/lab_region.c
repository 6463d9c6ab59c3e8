// SPDX-License-Identifier: MIT
// Preloaded into the ranks: simulated time runs from behind MPI_Init to MPI_Finalize, then the
// counters are written. Outside, ranks that wait give their CPU away (run_plan.py asks for it), for
// the host has fewer CPUs than the guest; inside they poll, as they do on a machine where each has
// a CPU of its own.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

#include "batch.h"
#include "trigger.h"
#include "yield.h"

// A job runs for hours, a program of the lab for milliseconds: with LAB_SETTLE_MS the mapper has
// read the topology before simulated time starts.
static void settle(void) {
  const char* text = getenv("LAB_SETTLE_MS");
  const long ms = text == NULL ? 0 : strtol(text, NULL, 10);
  if (ms > 0) nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static void begin(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  settle();
  PMPI_Barrier(MPI_COMM_WORLD);
  const bool first = batch_take(rank);
  yield_when_idle(false);
  if (rank == 0) batch_label();
  if (rank == 0 && first) LAB_TRIGGER(1, 0);
  PMPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) LAB_TRIGGER(3, 0);
}

static void end(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    LAB_TRIGGER(4, 1);
    if (batch_is_last()) LAB_TRIGGER(2, 0);
  }
  if (batch_is_last()) yield_when_idle(true);
  PMPI_Barrier(MPI_COMM_WORLD);
}

static bool already(void) {
  int yes = 0;
  PMPI_Initialized(&yes);
  return yes;
}

int MPI_Init(int* argc, char*** argv) {
  const int status = already() ? MPI_SUCCESS : PMPI_Init(argc, argv);
  begin();
  return status;
}

int MPI_Init_thread(int* argc, char*** argv, int required, int* provided) {
  *provided = required;
  const int status = already() ? MPI_SUCCESS : PMPI_Init_thread(argc, argv, required, provided);
  begin();
  return status;
}

int MPI_Finalize(void) {
  end();
  return batch_is_last() ? PMPI_Finalize() : MPI_SUCCESS;
}

// Fortran's names, as Open MPI and MPICH have them with gfortran, the last three from the module
// mpi_f08. Weak: a C program has no library with them.
#define FORTRAN_INIT(name)                         \
  __attribute__((weak)) void p##name(int* status); \
  void name(int* status);                          \
  void name(int* status) {                         \
    p##name(status);                               \
    begin();                                       \
  }
#define FORTRAN_INIT_THREAD(name)                                                \
  __attribute__((weak)) void p##name(int* required, int* provided, int* status); \
  void name(int* required, int* provided, int* status);                          \
  void name(int* required, int* provided, int* status) {                         \
    p##name(required, provided, status);                                         \
    begin();                                                                     \
  }
#define FORTRAN_FINALIZE(name)                     \
  __attribute__((weak)) void p##name(int* status); \
  void name(int* status);                          \
  void name(int* status) {                         \
    end();                                         \
    p##name(status);                               \
  }

FORTRAN_INIT(mpi_init_)
FORTRAN_INIT_THREAD(mpi_init_thread_)
FORTRAN_FINALIZE(mpi_finalize_)
FORTRAN_INIT(mpi_init_f08_)
FORTRAN_INIT_THREAD(mpi_init_thread_f08_)
FORTRAN_FINALIZE(mpi_finalize_f08_)
