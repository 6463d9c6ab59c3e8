/* SPDX-License-Identifier: Apache-2.0
 * Messages of a program that uses MPI sessions in place of MPI_Init: on a communicator in reverse
 * order and on a part of the world, from two sessions of which the first ends early.
 * session_sends [init]
 *   init: MPI_Init comes first and MPI_Finalize last, as if only a library used sessions */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"

enum { kMessages = 7, kBytes = 40 };

static MPI_Group world;

static MPI_Session open_session(void) {
  MPI_Session session;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  return session;
}

/* Asks for the number of process sets, and nothing else. MPICH 4.0.2 crashes in the next session if
 * no other one is open. */
static void look(void) {
  MPI_Session session = open_session();
  int sets;
  MPI_Session_get_num_psets(session, MPI_INFO_NULL, &sets);
  MPI_Session_finalize(&session);
}

static int world_rank_of(MPI_Comm comm, int peer) {
  MPI_Group group;
  int rank;
  MPI_Comm_group(comm, &group);
  MPI_Group_translate_ranks(group, 1, &peer, world, &rank);
  MPI_Group_free(&group);
  return rank;
}

/* Each rank sends to the next one, in three ways. */
static void talk(MPI_Comm comm, int bytes) {
  char out[kBytes] = {0}, in[kBytes];
  int rank, size;
  MPI_Request request[2];
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  const int to = (rank + 1) % size, from = (rank + size - 1) % size;
  const int in_world = world_rank_of(comm, to);
  for (int i = 0; i < kMessages && !counts_dry(); ++i) {
    MPI_Sendrecv(out, bytes, MPI_CHAR, to, 1, in, kBytes, MPI_CHAR, from, 1, comm,
                 MPI_STATUS_IGNORE);
    counts_add(in_world, bytes);
    MPI_Irecv(in, kBytes, MPI_CHAR, from, 2, comm, &request[0]);
    MPI_Isend(out, 3, MPI_CHAR, to, 2, comm, &request[1]);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    counts_add(in_world, 3);
  }
  if (counts_dry()) return;
  MPI_Recv_init(in, kBytes, MPI_CHAR, from, 3, comm, &request[0]);
  MPI_Send_init(out, bytes, MPI_CHAR, to, 3, comm, &request[1]);
  for (int i = 0; i < kMessages; ++i) {
    MPI_Startall(2, request);
    MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    counts_add(in_world, bytes);
  }
  MPI_Request_free(&request[0]);
  MPI_Request_free(&request[1]);
}

static void talk_in(MPI_Group group, const char* tag, int bytes) {
  MPI_Comm comm;
  int rank;
  MPI_Group_rank(group, &rank);
  if (rank == MPI_UNDEFINED) return;
  MPI_Comm_create_from_group(group, tag, MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  talk(comm, bytes);
  MPI_Comm_free(&comm);
}

static MPI_Group reversed(int size) {
  int* ranks = malloc((size_t)size * sizeof(*ranks));
  MPI_Group group;
  for (int i = 0; i < size; ++i) ranks[i] = size - 1 - i;
  MPI_Group_incl(world, size, ranks, &group);
  free(ranks);
  return group;
}

static MPI_Group all_but_the_first(int size) {
  int range[1][3] = {{size > 2 ? 1 : 0, size - 1, 1}};
  MPI_Group group;
  MPI_Group_range_incl(world, 1, range, &group);
  return group;
}

static void use_sessions(void) {
  MPI_Session first = open_session();
  look();
  MPI_Session second = open_session();
  int rank, size;
  MPI_Group_from_session_pset(first, "mpi://WORLD", &world);
  MPI_Group_rank(world, &rank);
  MPI_Group_size(world, &size);
  counts_begin(rank, size);
  MPI_Group backwards = reversed(size);
  talk_in(backwards, "first", 10);
  MPI_Group_free(&backwards);
  MPI_Group_free(&world);
  MPI_Session_finalize(&first);
  MPI_Group_from_session_pset(second, "mpi://WORLD", &world);
  MPI_Group part = all_but_the_first(size);
  talk_in(part, "second", 20);
  MPI_Group_free(&part);
  MPI_Group_free(&world);
  counts_end();
  MPI_Session_finalize(&second);
}

int main(int argc, char** argv) {
  const int init = argc > 1 && strcmp(argv[1], "init") == 0;
  if (init) MPI_Init(&argc, &argv);
  use_sessions();
  if (init) MPI_Finalize();
  return 0;
}
