/* SPDX-License-Identifier: Apache-2.0
 * Two ranks at MPI_THREAD_MULTIPLE. A thread of each sends and puts kBytes to the other rank, of a
 * derived type, the messages on a communicator that nothing was sent on before. When MPI has done
 * the call, and before it returns (late_return_tool.c), the main thread frees the communicator and
 * the type. The second time it makes others, whose ranks and size differ and whose handles are the
 * same. Prints a line if MPICH did not give a handle again: then the run tells nothing of that. */
#include "late_return.h"

#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { kBytes = 10, kOther = 1000 };

static char out[kOther], in[kOther];
static int rank;

struct call {
  MPI_Comm comm;
  MPI_Datatype type;
  MPI_Win window;
};

static void* send_block(void* data) {
  const struct call call = *(struct call*)data;
  MPI_Ssend(out, 1, call.type, 1 - rank, 0, call.comm);
  return NULL;
}

static void* put_block(void* data) {
  const struct call call = *(struct call*)data;
  MPI_Win_lock(MPI_LOCK_SHARED, 1 - rank, 0, call.window);
  MPI_Put(out, 1, call.type, 1 - rank, 0, kBytes, MPI_CHAR, call.window);
  MPI_Win_unlock(1 - rank, call.window);
  return NULL;
}

/* A thread that waits inside MPI would keep the CPU from the others. */
static void receive(MPI_Comm comm) {
  MPI_Request request;
  int done = 0;
  MPI_Irecv(in, kBytes, MPI_CHAR, 1 - rank, 0, comm, &request);
  for (MPI_Test(&request, &done, MPI_STATUS_IGNORE); !done; sched_yield())
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

static MPI_Datatype block_of(int bytes) {
  MPI_Datatype type;
  MPI_Type_contiguous(bytes, MPI_CHAR, &type);
  MPI_Type_commit(&type);
  return type;
}

/* Replaces what the call was made with. */
static void replace(const struct call* call) {
  MPI_Comm comm;
  MPI_Datatype type = block_of(kOther);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  if (type != call->type || comm != call->comm) printf("late_return: another handle\n");
  MPI_Comm_free(&comm);
  MPI_Type_free(&type);
}

static void run(void* (*start)(void*), MPI_Win window, int is_replaced) {
  struct call call = {MPI_COMM_NULL, block_of(kBytes), window}, freed;
  pthread_t thread;
  MPI_Comm_dup(MPI_COMM_WORLD, &call.comm);
  freed = call;
  pthread_create(&thread, NULL, start, &freed);
  if (start == send_block) receive(call.comm);
  sem_wait(&late_done);
  MPI_Comm_free(&call.comm);
  MPI_Type_free(&call.type);
  if (is_replaced) replace(&freed);
  sem_post(&late_may_return);
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  int level;
  MPI_Win window;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (level != MPI_THREAD_MULTIPLE) return 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  sem_init(&late_done, 0, 0);
  sem_init(&late_may_return, 0, 0);
  MPI_Win_create(in, kBytes, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  for (int is_replaced = 0; is_replaced < 2; ++is_replaced) {
    run(send_block, window, is_replaced);
    run(put_block, window, is_replaced);
  }
  MPI_Win_free(&window);
  MPI_Finalize();
  return 0;
}
