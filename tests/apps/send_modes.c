/* SPDX-License-Identifier: Apache-2.0
 * Uses every way to send a message in C, to every other rank, with several sizes and datatypes. */
#include <mpi.h>
#include <stdlib.h>

#include "counts.h"
#include "one_more.h"

enum { kMost = 70000, kTag = 7 };

static int rank, size;
static char *out, *in;

typedef int (*send_fn)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
typedef int (*isend_fn)(const void*, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request*);

static const send_fn blocking[] = {MPI_Send, MPI_Ssend, MPI_Bsend, MPI_Rsend};
static const isend_fn started[] = {MPI_Isend, MPI_Issend, MPI_Ibsend, MPI_Irsend};

/* In turn t every rank sends t ranks up and receives from t ranks down. Receives are posted first
 * and announced, so that ready mode is allowed. */
static void one_turn(int t, int count, MPI_Datatype type, int bytes, int mode, int non_blocking) {
  const int to = (rank + t) % size, from = (rank + size - t) % size;
  MPI_Request requests[2];
  MPI_Irecv(in, count, type, from, kTag, MPI_COMM_WORLD, &requests[0]);
  char token = 0;
  if (mode == 3) { /* the receiver announces that it is ready, in a message of its own */
    MPI_Sendrecv(&token, 1, MPI_CHAR, from, 1, &token, 1, MPI_CHAR, to, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    counts_add(from, 1);
  }
  if (non_blocking) {
    started[mode](out, count, type, to, kTag, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  } else {
    blocking[mode](out, count, type, to, kTag, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  counts_add(to, bytes);
}

static void all_modes(int t, int count, MPI_Datatype type, int bytes) {
  for (int mode = 0; mode < 4; ++mode) {
    one_turn(t, count, type, bytes, mode, 0);
    one_turn(t, count, type, bytes, mode, 1);
  }
}

static void replace(int t) {
  const int to = (rank + t) % size, from = (rank + size - t) % size;
  MPI_Sendrecv_replace(out, 100, MPI_INT, to, 2, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  counts_add(to, 400);
}

/* Types are made and freed again and again, so that handles come back with other sizes. */
static void derived(int t) {
  for (int blocks = 1; blocks <= 16; blocks *= 2) {
    MPI_Datatype vector, resized;
    MPI_Type_vector(blocks, 3, 5, MPI_DOUBLE, &vector);
    MPI_Type_create_resized(vector, 0, 1000, &resized);
    MPI_Type_commit(&resized);
    all_modes(t, 2, resized, 2 * blocks * 3 * 8);
    MPI_Type_free(&resized);
    MPI_Type_free(&vector);
  }
}

int main(int argc, char** argv) {
  static char attached[16 * (kMost + MPI_BSEND_OVERHEAD)];
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  counts_begin(rank, size);
  out = calloc(1, kMost);
  in = calloc(1, kMost);
  MPI_Buffer_attach(attached, sizeof(attached));
  for (int t = 1; t < size; ++t) {
    all_modes(t, 0, MPI_CHAR, 0);
    all_modes(t, 1, MPI_CHAR, 1);
    all_modes(t, 33, MPI_DOUBLE, 264);
    all_modes(t, kMost, MPI_BYTE, kMost); /* rendezvous */
    all_modes(t, 10, MPI_DOUBLE_INT, 120);
    derived(t);
    replace(t);
  }
  MPI_Send(out, 5, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD); /* goes nowhere, counts nowhere */
  void* detached;
  int length;
  MPI_Buffer_detach(&detached, &length);
  send_one_more();
  counts_end();
  MPI_Finalize();
  return 0;
}
