/* SPDX-License-Identifier: Apache-2.0
 * Persistent requests: each mode, started one by one and together, many times, freed, their objects
 * used again for receives and for other peers and sizes. And starts that MPI refuses, unless an
 * argument is given: MPICH 4.0.2 does not survive them. */
#include <mpi.h>
#include <setjmp.h>
#include <stdlib.h>

#include "counts.h"

enum { kMost = 40000 };

static int rank, size;
static char out[kMost], in[kMost];

typedef int (*init_fn)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);
static const init_fn modes[] = {MPI_Send_init, MPI_Ssend_init, MPI_Bsend_init};

static void started_alone(int to, int from, int bytes, int mode, int times) {
  MPI_Request send, receive;
  modes[mode](out, bytes, MPI_CHAR, to, 1, MPI_COMM_WORLD, &send);
  MPI_Recv_init(in, bytes, MPI_CHAR, from, 1, MPI_COMM_WORLD, &receive);
  for (int i = 0; i < times; ++i) {
    MPI_Start(&receive);
    MPI_Start(&send);
    counts_add(to, bytes);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&send);
  MPI_Request_free(&receive);
}

/* All receives and sends to all peers in one list; more of them than the library keeps on its
 * stack. */
static void started_together(int each, int times) {
  const int all = 2 * each * (size - 1);
  MPI_Request* list = malloc((size_t)all * sizeof(*list));
  int n = 0;
  for (int e = 0; e < each; ++e)
    for (int t = 1; t < size; ++t) {
      MPI_Recv_init(in, 16 + e, MPI_CHAR, (rank + size - t) % size, e, MPI_COMM_WORLD, &list[n++]);
      MPI_Send_init(out, 16 + e, MPI_CHAR, (rank + t) % size, e, MPI_COMM_WORLD, &list[n++]);
    }
  for (int i = 0; i < times; ++i) {
    MPI_Startall(n, list);
    for (int e = 0; e < each; ++e)
      for (int t = 1; t < size; ++t) counts_add((rank + t) % size, 16 + e);
    MPI_Waitall(n, list, MPI_STATUSES_IGNORE);
  }
  for (int i = 0; i < n; ++i) MPI_Request_free(&list[i]);
  free(list);
}

/* Freed while active: the message still goes out. */
static void freed_at_once(int to, int from) {
  MPI_Request send;
  MPI_Send_init(out, 8, MPI_CHAR, to, 2, MPI_COMM_WORLD, &send);
  MPI_Start(&send);
  counts_add(to, 8);
  MPI_Request_free(&send);
  MPI_Recv(in, 8, MPI_CHAR, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void to_nobody(void) {
  MPI_Request send;
  MPI_Send_init(out, 8, MPI_CHAR, MPI_PROC_NULL, 2, MPI_COMM_WORLD, &send);
  MPI_Start(&send);
  MPI_Wait(&send, MPI_STATUS_IGNORE);
  MPI_Request_free(&send);
}

/* Open MPI 4 and 5 report an error that belongs to no communicator in different places. */
static void on_errors(MPI_Errhandler handler) {
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
}

/* The last request of a long list is not valid: MPI starts none of them. */
static void refused(int to, int from) {
  enum { kMany = 200 };
  MPI_Request sends[kMany + 1];
  for (int i = 0; i < kMany; ++i) MPI_Send_init(out, 1, MPI_CHAR, to, 3, MPI_COMM_WORLD, &sends[i]);
  sends[kMany] = MPI_REQUEST_NULL;
  on_errors(MPI_ERRORS_RETURN);
  if (MPI_Startall(kMany + 1, sends) == MPI_SUCCESS) abort();
  on_errors(MPI_ERRORS_ARE_FATAL);
  MPI_Startall(kMany, sends);
  for (int i = 0; i < kMany; ++i) {
    counts_add(to, 1);
    MPI_Recv(in, 1, MPI_CHAR, from, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  MPI_Waitall(kMany, sends, MPI_STATUSES_IGNORE);
  for (int i = 0; i < kMany; ++i) MPI_Request_free(&sends[i]);
}

static jmp_buf outside;
static void leave(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  (void)code;
  longjmp(outside, 1);
}

/* An error handler that does not return, as those of interpreters do. */
static void left_by_a_jump(void) {
  MPI_Request none = MPI_REQUEST_NULL;
  MPI_Errhandler handler;
  MPI_Comm_create_errhandler(leave, &handler);
  on_errors(handler);
  if (setjmp(outside) == 0) {
    MPI_Start(&none);
    abort();
  }
  on_errors(MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
}

int main(int argc, char** argv) {
  static char attached[4 * (kMost + MPI_BSEND_OVERHEAD)];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  counts_begin(rank, size);
  MPI_Buffer_attach(attached, sizeof(attached));
  if (argc == 1) {
    left_by_a_jump();
    refused((rank + 1) % size, (rank + size - 1) % size);
  }
  for (int round = 0; round < 20; ++round)
    for (int t = 1; t < size; ++t) {
      const int to = (rank + t) % size, from = (rank + size - t) % size;
      started_alone(to, from, round % 2 ? 64 + round : kMost, round % 3, 1 + round);
      freed_at_once(to, from);
    }
  started_together(1, 50);
  started_together(60, 5);
  to_nobody();
  void* detached;
  int length;
  MPI_Buffer_detach(&detached, &length);
  counts_end();
  MPI_Finalize();
  return 0;
}
