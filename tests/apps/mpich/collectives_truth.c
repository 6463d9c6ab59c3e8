/* SPDX-License-Identifier: Apache-2.0
 * collectives_truth SIZE... : every collective of MPI with blocks of these bytes, blocking, started
 * and persistent. After each call compares, cell by cell, what ondeloc has added to this rank's row
 * (the segment is that of ONDELOC_STEP; so few ranks of other nodes have a cell each) with what
 * MPICH has handed to UCX (ucx_counts.c). Rank 0 prints one line for each case that differs, and at
 * last
 *
 *   cases C exact E bytes B wrong W
 *
 * where B is the sum over all off-diagonal cells of all cases and W that of the absolute
 * differences. A case is exact if all its cells have the same bytes and messages.
 * TRUTH_ONE_MORE: rank 0 sends one message past ondeloc's eyes in each case; none is exact then. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "cases.h"
#include "mapcore/segment/layout.h"
#include "ucx_counts.h"

enum { kRanks = 64 };

static int rank, size;
static const struct ondeloc_cell* row;
static int row_cells;
static int cells; /* of the first half of the row, then of the ranks of other nodes */
static int cell_of_rank[kRanks];
static int peer_of_endpoint[kRanks];
static int (*truth)(struct ucx_cell*, int);
static unsigned long long cases, exact, all_bytes, wrong_bytes;

struct counts {
  struct ondeloc_cell to[kRanks + 1 + kRanks];
};

static void find_row(void) {
  const char* fd = strstr(getenv("ONDELOC_STEP"), "fd=");
  const struct ondeloc_header* header =
      mmap(NULL, sizeof(*header), PROT_READ, MAP_SHARED, atoi(fd + 3), 0);
  const char* all = mmap(NULL, header->segment_size, PROT_READ, MAP_SHARED, atoi(fd + 3), 0);
  const uint32_t* local_plus_one = (const uint32_t*)(all + header->table_offset);
  row_cells = (int)header->row_cells;
  cells = row_cells + (header->peer_cells > 0 ? size : 0);
  for (int r = 0; r < size; ++r)
    cell_of_rank[r] = local_plus_one[r] == 0 ? row_cells + r : (int)local_plus_one[r] - 1;
  row = (const struct ondeloc_cell*)(all + header->rows_offset +
                                     (size_t)cell_of_rank[rank] * header->row_stride);
}

/* A barrier of its own would be counted: messages at the level of UCX come first. */
static void read_counts(struct counts* ours, struct counts* theirs) {
  struct ucx_cell handed[kRanks];
  const int endpoints = truth(handed, kRanks);
  memset(theirs, 0, sizeof(*theirs));
  for (int e = 0; e < endpoints; ++e) {
    const int peer = peer_of_endpoint[e];
    if (peer < 0) continue;
    theirs->to[cell_of_rank[peer]].bytes += handed[e].bytes;
    theirs->to[cell_of_rank[peer]].messages += handed[e].messages;
  }
  memcpy(ours->to, row, (size_t)row_cells * sizeof(*row));
  memcpy(ours->to + row_cells, row + 2 * row_cells, (size_t)(cells - row_cells) * sizeof(*row));
}

static int most_bytes(struct ucx_cell* now, const struct ucx_cell* before, int endpoints) {
  for (int e = 0; e < endpoints; ++e)
    if (now[e].bytes - before[e].bytes >= 1000003) return e;
  return -1;
}

/* Which endpoint leads to a peer: a message of a size of its own tells. */
static void learn_endpoints(void) {
  enum { kBytes = 1000003 };
  char *out = calloc(1, kBytes), *in = calloc(1, kBytes);
  for (int e = 0; e < kRanks; ++e) peer_of_endpoint[e] = -1;
  for (int turn = 1; turn < size; ++turn) {
    struct ucx_cell before[kRanks] = {{0, 0}}, now[kRanks] = {{0, 0}};
    const int to = (rank + turn) % size, from = (rank + size - turn) % size;
    truth(before, kRanks);
    MPI_Sendrecv(out, kBytes, MPI_CHAR, to, 1, in, kBytes, MPI_CHAR, from, 1, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    const int endpoint = most_bytes(now, before, truth(now, kRanks));
    if (endpoint >= 0) peer_of_endpoint[endpoint] = to;
  }
  free(out);
  free(in);
}

/* bytes, |bytes|, and whether a cell differs */
static void compare(const struct counts* b0, const struct counts* t0, const struct counts* b1,
                    const struct counts* t1, unsigned long long result[3]) {
  memset(result, 0, 3 * sizeof(*result));
  for (int to = 0; to < cells; ++to) {
    if (to == cell_of_rank[rank]) continue;
    const long long ours = (long long)(b1->to[to].bytes - b0->to[to].bytes);
    const long long theirs = (long long)(t1->to[to].bytes - t0->to[to].bytes);
    const int same =
        b1->to[to].messages - b0->to[to].messages == t1->to[to].messages - t0->to[to].messages;
    result[0] += (unsigned long long)theirs;
    result[1] += (unsigned long long)llabs(ours - theirs);
    if (ours != theirs || !same) ++result[2];
    if (getenv("TRUTH_CELLS") != NULL && (ours != theirs || !same))
      fprintf(stderr, "  %d -> cell %d: %lld in %llu, true %lld in %llu\n", rank, to, ours,
              (unsigned long long)(b1->to[to].messages - b0->to[to].messages), theirs,
              (unsigned long long)(t1->to[to].messages - t0->to[to].messages));
  }
}

static void past_ondeloc(void) {
  static int (*send)(const void*, int, MPI_Datatype, int, int, MPI_Comm);
  if (send == NULL) {
    void* library = dlopen("libmpich.so.12", RTLD_LAZY | RTLD_NOLOAD);
    if (library == NULL) library = dlopen("libmpi_abi.so.1", RTLD_LAZY | RTLD_NOLOAD);
    *(void**)&send = dlsym(library, "PMPI_Send");
  }
  char byte = 0;
  if (rank == 0) send(&byte, 1, MPI_CHAR, 1, 99, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&byte, 1, MPI_CHAR, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void run_case(const struct truth_case* one, int bytes, int form) {
  struct counts ours[2], theirs[2];
  unsigned long long mine[3], sum[3];
  truth_prepare(one, bytes, form);
  MPI_Barrier(MPI_COMM_WORLD);
  read_counts(&ours[0], &theirs[0]);
  truth_run();
  if (getenv("TRUTH_ONE_MORE") != NULL) past_ondeloc();
  read_counts(&ours[1], &theirs[1]);
  compare(&ours[0], &theirs[0], &ours[1], &theirs[1], mine);
  truth_finish();
  MPI_Allreduce(mine, sum, 3, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  ++cases;
  exact += sum[2] == 0;
  all_bytes += sum[0];
  wrong_bytes += sum[1];
  if (rank == 0 && sum[2] != 0)
    printf("differs: %s %s of %d bytes: %llu cells, %llu of %llu bytes\n", truth_forms[form],
           one->name, bytes, sum[2], sum[1], sum[0]);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  *(void**)&truth = dlsym(RTLD_DEFAULT, "ucx_counts");
  if (truth == NULL || getenv("ONDELOC_STEP") == NULL || size > kRanks || size < 2) {
    fprintf(stderr, "collectives_truth: needs a step of ondeloc, ucx_counts and 2 to 64 ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  find_row();
  learn_endpoints();
  const char* only = getenv("TRUTH_ONLY");
  truth_setup();
  for (int form = 0; form < 3; ++form)
    for (int i = 0; i < truth_case_count; ++i)
      for (int s = 1; s < argc; ++s)
        if (only == NULL || strcmp(only, truth_cases[i].name) == 0)
          run_case(&truth_cases[i], atoi(argv[s]), form);
  truth_cleanup();
  if (rank == 0)
    printf("cases %llu exact %llu bytes %llu wrong %llu\n", cases, exact, all_bytes, wrong_bytes);
  MPI_Finalize();
  return 0;
}
