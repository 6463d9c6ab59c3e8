/* SPDX-License-Identifier: Apache-2.0
 * One-sided communication: every call that transfers data, in windows of every kind that are made
 * again and again on communicators in several orders, so that handles come back with other ranks
 * behind them. one_sided [ROUNDS] */
#include <mpi.h>
#include <stdlib.h>

#include "counts.h"

enum { kBytes = 4096 };

static int rank, size;
static MPI_Group world;

struct Target {
  MPI_Win window;
  int member, world; /* rank in the window's group and in the world */
  MPI_Aint base;     /* displacement of the target's memory */
};

static void sent(const struct Target* to, long long bytes) { counts_add(to->world, bytes); }
static void fetched(const struct Target* from, long long bytes) {
  counts_add_from(from->world, bytes);
}

static void plain(const struct Target* to, char* own) {
  MPI_Put(own, 11, MPI_CHAR, to->member, to->base, 11, MPI_CHAR, to->window);
  sent(to, 11);
  MPI_Get(own + 64, 3, MPI_DOUBLE, to->member, to->base, 24, MPI_CHAR, to->window);
  fetched(to, 24);
  MPI_Accumulate(own, 5, MPI_INT, to->member, to->base + 128, 5, MPI_INT, MPI_SUM, to->window);
  sent(to, 20);
}

static void atomics(const struct Target* to, char* own) {
  MPI_Get_accumulate(own, 2, MPI_INT, own + 64, 2, MPI_INT, to->member, to->base + 256, 2, MPI_INT,
                     MPI_SUM, to->window);
  sent(to, 8);
  fetched(to, 8);
  MPI_Get_accumulate(NULL, 0, MPI_INT, own + 128, 7, MPI_INT, to->member, to->base + 256, 7,
                     MPI_INT, MPI_NO_OP, to->window);
  fetched(to, 28);
  MPI_Fetch_and_op(own, own + 192, MPI_LONG, to->member, to->base + 512, MPI_SUM, to->window);
  sent(to, 8);
  fetched(to, 8);
  MPI_Fetch_and_op(NULL, own + 200, MPI_LONG, to->member, to->base + 512, MPI_NO_OP, to->window);
  fetched(to, 8);
  MPI_Compare_and_swap(own, own + 8, own + 208, MPI_INT, to->member, to->base + 520, to->window);
  sent(to, 8);
  fetched(to, 4);
}

/* Only between MPI_Win_lock_all and MPI_Win_unlock_all. */
static void with_requests(const struct Target* to, char* own) {
  MPI_Request requests[4];
  MPI_Rput(own, 13, MPI_CHAR, to->member, to->base, 13, MPI_CHAR, to->window, &requests[0]);
  sent(to, 13);
  MPI_Rget(own + 64, 17, MPI_CHAR, to->member, to->base, 17, MPI_CHAR, to->window, &requests[1]);
  fetched(to, 17);
  MPI_Raccumulate(own, 2, MPI_LONG, to->member, to->base + 512, 2, MPI_LONG, MPI_SUM, to->window,
                  &requests[2]);
  sent(to, 16);
  MPI_Rget_accumulate(own, 1, MPI_LONG, own + 128, 1, MPI_LONG, to->member, to->base + 512, 1,
                      MPI_LONG, MPI_REPLACE, to->window, &requests[3]);
  sent(to, 8);
  fetched(to, 8);
  MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static void derived_type(const struct Target* to, char* own) {
  MPI_Datatype strided;
  MPI_Type_vector(4, 1, 3, MPI_INT, &strided);
  MPI_Type_commit(&strided);
  MPI_Put(own, 1, strided, to->member, to->base, 16, MPI_CHAR, to->window);
  sent(to, 16);
  MPI_Get(own + 64, 16, MPI_CHAR, to->member, to->base, 1, strided, to->window);
  fetched(to, 16);
  MPI_Type_free(&strided);
}

#if MPI_VERSION >= 4 && defined(MPICH)
static void large(const struct Target* to, char* own) {
  MPI_Put_c(own, 19, MPI_CHAR, to->member, to->base, 19, MPI_CHAR, to->window);
  sent(to, 19);
  MPI_Get_c(own + 64, 23, MPI_CHAR, to->member, to->base, 23, MPI_CHAR, to->window);
  fetched(to, 23);
  MPI_Accumulate_c(own, 3, MPI_INT, to->member, to->base, 3, MPI_INT, MPI_SUM, to->window);
  sent(to, 12);
  MPI_Get_accumulate_c(own, 2, MPI_INT, own + 64, 2, MPI_INT, to->member, to->base, 2, MPI_INT,
                       MPI_SUM, to->window);
  sent(to, 8);
  fetched(to, 8);
}
#else
static void large(const struct Target* to, char* own) {
  (void)to;
  (void)own;
}
#endif

static void talk(MPI_Win window, MPI_Group group, const MPI_Aint* bases, char* own) {
  int members;
  MPI_Group_size(group, &members);
  MPI_Win_fence(0, window);
  for (int m = 0; m < members && !counts_dry(); ++m) {
    struct Target to = {window, m, 0, bases == NULL ? 0 : bases[m]};
    MPI_Group_translate_ranks(group, 1, &m, world, &to.world);
    plain(&to, own);
    derived_type(&to, own);
    large(&to, own);
  }
  MPI_Put(own, 9, MPI_CHAR, MPI_PROC_NULL, 0, 9, MPI_CHAR, window);
  MPI_Win_fence(0, window);
  MPI_Win_lock_all(0, window);
  for (int m = 0; m < members && !counts_dry(); ++m) {
    struct Target to = {window, m, 0, bases == NULL ? 0 : bases[m]};
    MPI_Group_translate_ranks(group, 1, &m, world, &to.world);
    atomics(&to, own);
    with_requests(&to, own);
  }
  MPI_Win_unlock_all(window);
}

static void in_dynamic_window(MPI_Comm comm, MPI_Group group, char* own, char* memory) {
  MPI_Win window;
  MPI_Aint base, bases[64];
  MPI_Win_create_dynamic(MPI_INFO_NULL, comm, &window);
  MPI_Win_attach(window, memory, kBytes);
  MPI_Get_address(memory, &base);
  MPI_Allgather(&base, 1, MPI_AINT, bases, 1, MPI_AINT, comm);
  talk(window, group, bases, own);
  MPI_Barrier(comm);
  MPI_Win_detach(window, memory);
  MPI_Win_free(&window);
}

static void in_windows(MPI_Comm comm) {
  static char own[kBytes], memory[kBytes];
  char* allocated;
  MPI_Win window;
  MPI_Group group;
  MPI_Comm_group(comm, &group);
  MPI_Win_create(memory, kBytes, 1, MPI_INFO_NULL, comm, &window);
  talk(window, group, NULL, own);
  MPI_Win_free(&window);
  MPI_Win_allocate(kBytes, 1, MPI_INFO_NULL, comm, &allocated, &window);
  talk(window, group, NULL, own);
  MPI_Win_free(&window);
  in_dynamic_window(comm, group, own, memory);
  MPI_Group_free(&group);
}

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 3;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  counts_begin(rank, size);
  for (int round = 0; round < rounds; ++round) {
    MPI_Comm turned;
    in_windows(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, 0, (rank * 5 + round) % size, &turned);
    in_windows(turned);
    MPI_Comm_free(&turned);
  }
  MPI_Group_free(&world);
  counts_end();
  MPI_Finalize();
  return 0;
}
