/* SPDX-License-Identifier: Apache-2.0
 * Preloaded behind the rank library by step_of_many: gives a rank of mpirun the name of its job
 * back, which step_of_many has hidden from the rank library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

int MPI_Init(void* argc, void* argv);
int MPI_Init(void* argc, void* argv) {
  int (*next)(void*, void*);
  *(void**)&next = dlsym(RTLD_NEXT, "MPI_Init");
  setenv("PMIX_NAMESPACE", getenv("STEP_NAMESPACE"), 1);
  return next(argc, argv);
}

int MPI_Init_thread(void* argc, void* argv, int required, void* provided);
int MPI_Init_thread(void* argc, void* argv, int required, void* provided) {
  int (*next)(void*, void*, int, void*);
  *(void**)&next = dlsym(RTLD_NEXT, "MPI_Init_thread");
  setenv("PMIX_NAMESPACE", getenv("STEP_NAMESPACE"), 1);
  return next(argc, argv, required, provided);
}

int MPI_Session_init(void* info, void* handler, void* session);
int MPI_Session_init(void* info, void* handler, void* session) {
  int (*next)(void*, void*, void*);
  *(void**)&next = dlsym(RTLD_NEXT, "MPI_Session_init");
  setenv("PMIX_NAMESPACE", getenv("STEP_NAMESPACE"), 1);
  return next(info, handler, session);
}
