/* SPDX-License-Identifier: Apache-2.0
 * MPI_THREAD_MULTIPLE: several threads of each rank send at the same time to the same peers, on the
 * world, on communicators of their own and by persistent requests of their own.
 * threads [ROUNDS]: more ranks than CPUs make MPICH's waiting threads slow. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "counts.h"

enum { kThreads = 4 };

static int rank, size, rounds = 400;

struct worker {
  int index;
  MPI_Comm comm;
};

static void on_comm(const struct worker* w, MPI_Comm comm, int bytes) {
  char out[64], in[64];
  for (int t = 1; t < size; ++t) {
    const int to = (rank + t) % size, from = (rank + size - t) % size;
    MPI_Request receive;
    MPI_Irecv(in, bytes, MPI_CHAR, from, w->index, comm, &receive);
    MPI_Send(out, bytes, MPI_CHAR, to, w->index, comm);
    counts_add(to, bytes);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
  }
}

static void persistent(const struct worker* w, int bytes) {
  char out[64], in[64];
  const int to = (rank + 1) % size, from = (rank + size - 1) % size, tag = 100 + w->index;
  MPI_Request both[2];
  MPI_Recv_init(in, bytes, MPI_CHAR, from, tag, MPI_COMM_WORLD, &both[0]);
  MPI_Send_init(out, bytes, MPI_CHAR, to, tag, MPI_COMM_WORLD, &both[1]);
  for (int i = 0; i < 3; ++i) {
    MPI_Startall(2, both);
    counts_add(to, bytes);
    MPI_Waitall(2, both, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&both[0]);
  MPI_Request_free(&both[1]);
}

static void* work(void* data) {
  const struct worker* w = data;
  for (int round = 0; round < rounds; ++round) {
    on_comm(w, MPI_COMM_WORLD, 8 + w->index);
    on_comm(w, w->comm, 16 + w->index);
    if (round % 8 == 0) persistent(w, 24 + w->index);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int level;
  struct worker workers[kThreads];
  pthread_t threads[kThreads];
  if (argc > 1) rounds = atoi(argv[1]);
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  if (level != MPI_THREAD_MULTIPLE) {
    fprintf(stderr, "threads: this MPI library does not give MPI_THREAD_MULTIPLE\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  counts_begin(rank, size);
  for (int i = 0; i < kThreads; ++i) {
    workers[i].index = i;
    MPI_Comm_dup(MPI_COMM_WORLD, &workers[i].comm);
  }
  if (!counts_dry()) {
    for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, work, &workers[i]);
    for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  }
  for (int i = 0; i < kThreads; ++i) MPI_Comm_free(&workers[i].comm);
  counts_end();
  MPI_Finalize();
  return 0;
}
