/* SPDX-License-Identifier: Apache-2.0
 * Four ranks. Attributes of communicators and of a window have delete callbacks that still use
 * them: each rank sends to the next one. Then communicators of pairs of ranks, and a window over
 * one, get the handles: there each rank sends kCalls messages of each kind to its partner. The
 * second communicator is freed before its persistent request, so that MPICH ends it, and calls the
 * callback, when the request is freed. Prints a line if MPICH did not give a handle again: then the
 * run tells nothing of that. */
#include <mpi.h>
#include <stdio.h>

enum { kRanks = 4, kCalls = 10, kSent = 100, kExchanged = 1000, kPut = 10000 };

static char out[kPut], in[kPut];
static int rank;

static void exchange(int bytes, int peer, MPI_Comm comm) {
  int counts[kRanks] = {0}, places[kRanks] = {0}, me, size, from[kRanks] = {0};
  MPI_Comm_rank(comm, &me);
  MPI_Comm_size(comm, &size);
  counts[peer] = bytes;
  from[(2 * me + size - peer) % size] = bytes;
  MPI_Alltoallv(out, counts, places, MPI_CHAR, in, from, places, MPI_CHAR, comm);
}

static int talk(MPI_Comm comm, int key, void* value, void* extra) {
  const int next = (rank + 1) % kRanks;
  (void)key, (void)value, (void)extra;
  MPI_Sendrecv(out, 1, MPI_CHAR, next, 0, in, 1, MPI_CHAR, MPI_ANY_SOURCE, 0, comm,
               MPI_STATUS_IGNORE);
  exchange(2, next, comm);
  return MPI_SUCCESS;
}

static void put(int bytes, int peer, MPI_Win window) {
  MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, window);
  MPI_Put(out, bytes, MPI_CHAR, peer, 0, bytes, MPI_CHAR, window);
  MPI_Win_unlock(peer, window);
}

static int put_last(MPI_Win window, int key, void* value, void* extra) {
  (void)key, (void)value, (void)extra;
  put(3, (rank + 1) % kRanks, window);
  return MPI_SUCCESS;
}

static void expect_handle(int is_reused) {
  if (!is_reused) printf("delete_callbacks: another handle\n");
}

/* Returns the communicator of this rank and its partner. */
static MPI_Comm after_world(int keyval, int with_request) {
  MPI_Comm all, pair;
  MPI_Request request;
  MPI_Comm_dup(MPI_COMM_WORLD, &all);
  const MPI_Comm freed = all;
  MPI_Comm_set_attr(all, keyval, NULL);
  if (with_request) MPI_Send_init(out, 1, MPI_CHAR, rank, 0, all, &request);
  MPI_Comm_free(&all);
  if (with_request) MPI_Request_free(&request);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2, -rank, &pair);
  expect_handle(pair == freed);
  return pair;
}

static void in_pairs(MPI_Comm pair) {
  int me;
  MPI_Comm_rank(pair, &me);
  for (int call = 0; call < kCalls; ++call) {
    MPI_Sendrecv(out, kSent, MPI_CHAR, 1 - me, 0, in, kSent, MPI_CHAR, 1 - me, 0, pair,
                 MPI_STATUS_IGNORE);
    exchange(kExchanged, 1 - me, pair);
  }
}

static void windows(MPI_Comm pair) {
  int keyval, me;
  MPI_Win window;
  MPI_Comm_rank(pair, &me);
  MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, put_last, &keyval, NULL);
  MPI_Win_create(in, kPut, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  MPI_Win_set_attr(window, keyval, NULL);
  const MPI_Win freed = window;
  MPI_Win_free(&window);
  MPI_Win_create(in, kPut, 1, MPI_INFO_NULL, pair, &window);
  expect_handle(window == freed);
  for (int call = 0; call < kCalls; ++call) put(kPut, 1 - me, window);
  MPI_Win_free(&window);
}

int main(int argc, char** argv) {
  int keyval;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, talk, &keyval, NULL);
  for (int with_request = 0; with_request < 2; ++with_request) {
    MPI_Comm pair = after_world(keyval, with_request);
    in_pairs(pair);
    if (with_request) windows(pair);
    MPI_Comm_free(&pair);
  }
  MPI_Finalize();
  return 0;
}
