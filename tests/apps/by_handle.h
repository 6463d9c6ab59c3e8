/* SPDX-License-Identifier: Apache-2.0
 * Included before a program: it looks the functions below up in the handle of Open MPI's library,
 * so that its calls reach no preloaded library. */
#include <dlfcn.h>
#include <mpi.h>

static inline void* by_handle(const char* name) {
  return dlsym(dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD), name);
}

#define BY_HANDLE(FUNCTION) ((__typeof__(FUNCTION)*)by_handle(#FUNCTION))
#define MPI_Init(...) BY_HANDLE(MPI_Init)(__VA_ARGS__)
#define MPI_Send_init(...) BY_HANDLE(MPI_Send_init)(__VA_ARGS__)
#define MPI_Recv_init(...) BY_HANDLE(MPI_Recv_init)(__VA_ARGS__)
#define MPI_Start(...) BY_HANDLE(MPI_Start)(__VA_ARGS__)
#define MPI_Startall(...) BY_HANDLE(MPI_Startall)(__VA_ARGS__)
#define MPI_Request_free(...) BY_HANDLE(MPI_Request_free)(__VA_ARGS__)
#define MPI_Finalize(...) BY_HANDLE(MPI_Finalize)(__VA_ARGS__)
