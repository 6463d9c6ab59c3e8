/* SPDX-License-Identifier: Apache-2.0
 * Linked in front of MPICH, so that ondeloc calls it as the next function: calls return only when
 * the program says so (late_return.c). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stddef.h>

#include "late_return.h"

sem_t late_done, late_may_return;

static int late(int rc) {
  sem_post(&late_done);
  sem_wait(&late_may_return);
  return rc;
}

#define NEXT(NAME, ...)            \
  static int (*next)(__VA_ARGS__); \
  if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, #NAME)

int MPI_Ssend(const void* buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
  NEXT(MPI_Ssend, const void*, int, MPI_Datatype, int, int, MPI_Comm);
  return late(next(buffer, count, type, to, tag, comm));
}

int MPI_Put(const void* buffer, int count, MPI_Datatype type, int target, MPI_Aint place,
            int target_count, MPI_Datatype target_type, MPI_Win window) {
  NEXT(MPI_Put, const void*, int, MPI_Datatype, int, MPI_Aint, int, MPI_Datatype, MPI_Win);
  return late(next(buffer, count, type, target, place, target_count, target_type, window));
}
