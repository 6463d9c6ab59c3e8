/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/* The shared segment of one step on one node, version 4. A sealed memfd that slurmstepd creates
 * with pwrite (root never maps it) and every rank and the mapper map. C, fixed widths,
 * little-endian hosts, offsets from the start of the segment, never pointers.
 *
 *   offset           what                                    written by
 *   0                struct ondeloc_header                   creator; tick and mapper_pid: the mapper;
 *                                                            mpi_starts: any rank
 *   slots_offset     local_ranks x struct ondeloc_slot       task part: the task; rank part: the rank
 *   table_offset     world_ranks x uint32: local rank + 1,   creator; in heterogeneous steps the task
 *                    0 = off the node
 *   rows_offset      local_ranks rows of row_stride bytes    the rank that claimed the row, alone
 *   after the rows   the event channel, in mode `profile`    see channel_layout.h
 *                    only (header.record_cells != 0)
 *
 * A row is twice row_cells = local_ranks + 1 cells. Cell j of the first half counts what this rank
 * sent to local rank j (readers leave the rank's own cell out); the last cell counts what it sent
 * to ranks off the node that have no cell of their own. The second half counts in the same way what
 * this rank fetched by one-sided communication, so cell j holds data that went from rank j to this
 * rank. Nobody touches the second half before the rank has noted ONDELOC_NOTE_ONE_SIDED. Behind
 * both halves lie the cells of ranks off the node (peer_cells.h): peer_cells cells of what was
 * sent, as many of what was fetched, then as many uint32: the world rank of each + 1, 0 = not in
 * use. The row ends with a bit for each local rank, which is set before cell j of either half is
 * used (used_cells.h): the mapper reads the cells of these ranks only. Each row starts on a page of
 * its own, so that first touch puts it on its writer's NUMA node. Cells only grow. A row has one
 * writer process, which uses relaxed 64-bit stores, or relaxed fetch_add under MPI_THREAD_MULTIPLE.
 * Readers copy what they need once and trust nothing: they check every index and offset against the
 * size of the file.
 */
/* clang-format on */
#ifndef ONDELOC_MAPCORE_SEGMENT_LAYOUT_H
#define ONDELOC_MAPCORE_SEGMENT_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ONDELOC_MAGIC 0x31434F4C45444E4FULL /* "ONDELOC1" in memory */
#define ONDELOC_LAYOUT_VERSION 4u
#define ONDELOC_PAGE 4096u
#define ONDELOC_MASK_WORDS 128u /* 8192 CPUs, the largest NR_CPUS */
#define ONDELOC_MAX_LOCAL_RANKS 8192u
#define ONDELOC_MAX_WORLD_RANKS (1u << 24)
#define ONDELOC_PEER_CELLS_MAX 1024u /* a power of 2 */

struct ondeloc_cell {
  uint64_t bytes;
  uint64_t messages;
};

struct ondeloc_header {
  uint64_t magic;
  uint32_t version;
  uint32_t header_size; /* sizeof(struct ondeloc_header) */
  uint64_t segment_size;
  uint32_t local_ranks;
  uint32_t world_ranks;
  uint64_t slots_offset;
  uint64_t table_offset;
  uint64_t rows_offset;
  uint64_t row_stride;
  uint32_t slot_size; /* sizeof(struct ondeloc_slot) */
  uint32_t row_cells; /* of half a row: local_ranks + 1 */
  uint32_t job_id;
  uint32_t step_id;
  uint32_t uid;
  uint32_t cpus_per_task;
  uint32_t interval_ms;  /* first interval; ranks without the tick use it */
  uint32_t record_cells; /* of each rank's pool in the event channel after the rows; 0: none */
  uint32_t peer_cells;   /* of ranks off the node, in each row */
  uint32_t reserved[23];
  uint64_t tick; /* raised by the mapper to ask for SAMPLEs; on its own cache line */
  uint32_t mapper_pid;
  uint32_t mpi_starts; /* 1: some rank has called MPI_Init, or made an MPI session */
  uint32_t reserved_tail[12];
};

enum ondeloc_task_state { ONDELOC_TASK_EMPTY = 0, ONDELOC_TASK_READY = 1 };
enum ondeloc_rank_state {
  ONDELOC_RANK_NONE = 0,
  ONDELOC_RANK_ATTACHED = 1,
  /* Set only if no DETACH event is sent: the event would come after the ROWs that are on the way.
   */
  ONDELOC_RANK_DETACHED = 2
};

/* Findings of a rank, for the report's notes[]. Set with an atomic or. */
enum ondeloc_note {
  ONDELOC_NOTE_THREAD_MULTIPLE = 1u << 0,
  ONDELOC_NOTE_SESSIONS = 1u << 1,       /* MPI Sessions: threads may send at once */
  ONDELOC_NOTE_ONE_SIDED = 1u << 2,      /* RMA windows: the second half of the row is in use */
  ONDELOC_NOTE_SECOND_CLAIM = 1u << 3,   /* a second process claimed the row */
  ONDELOC_NOTE_WORLD_SIZE = 1u << 4,     /* MPI_COMM_WORLD is not the step: not counted */
  ONDELOC_NOTE_FOREIGN_JOB = 1u << 5,    /* PMIX_NAMESPACE of another launcher: not counted */
  ONDELOC_NOTE_UNKNOWN_MPI = 1u << 6,    /* MPI library not recognised: not counted */
  ONDELOC_NOTE_TRANSPORT_PMIX = 1u << 7, /* this rank reports by PMIx events */
  ONDELOC_NOTE_NO_PMIX = 1u << 8,        /* no PMIx client: no events */
  ONDELOC_NOTE_BOUND_MEMORY = 1u << 9,   /* its memory policy names nodes */
  ONDELOC_NOTE_NO_MEMORY = 1u << 10,     /* too little for counting: some traffic is not counted */
  ONDELOC_NOTE_SINGLETON = 1u << 11,     /* an MPICH program that started alone: not counted */
  ONDELOC_NOTE_MODELLED = 1u << 12,      /* collectives are counted by a model */
  ONDELOC_NOTE_NOT_VALIDATED = 1u << 13, /* an MPI that the tests do not run with */
  ONDELOC_NOTE_TUNED = 1u << 14,         /* the user chose MPICH's algorithms: the model did not */
  ONDELOC_NOTE_SHARED_WINDOW = 1u << 15, /* loads and stores in shared windows: not counted */
  ONDELOC_NOTE_WINDOW_SENDS = 1u << 16,  /* windows of osc/pt2pt: counted as their messages */
  ONDELOC_NOTE_UNSEEN_COLLECTIVES = 1u << 17, /* they bypass Open MPI's table of messages */
  ONDELOC_NOTE_BY_HANDLE = 1u << 18, /* MPI was called past the rank library: not counted */
};

struct ondeloc_slot {
  /* Task part: the task writes it in task_init with one pwrite, then task_state with another. */
  uint32_t task_state;
  uint32_t world_rank;
  int32_t task_pid;
  uint32_t mask_words; /* words of mask in use */
  uint64_t task_start; /* of task_pid, clock ticks after boot: field 22 of /proc/pid/stat */
  uint64_t mask[ONDELOC_MASK_WORDS]; /* CPUs as Slurm bound the task; word w bit b = CPU 64 w + b */
  uint64_t reserved_task[3];
  /* Written by the rank: the part of its row that a model of collectives has added. */
  uint64_t modelled_bytes;
  uint64_t modelled_messages;
  /* Rank part, on its own cache line: a rank claims owner_pid with compare-and-swap from 0. */
  int32_t owner_pid;
  uint32_t rank_state;
  uint32_t notes;
  int32_t thread_level; /* MPI_THREAD_*, as in mpi.h: 0 to 3 */
  char library[40];     /* "Open MPI 4.1.4", zero-terminated */
  uint64_t reserved_rank;
};

#ifdef __cplusplus
}
static_assert(sizeof(ondeloc_cell) == 16);
static_assert(sizeof(ondeloc_header) == 256);
static_assert(offsetof(ondeloc_header, tick) == 192);
static_assert(sizeof(ondeloc_slot) == 1152);
static_assert(offsetof(ondeloc_slot, owner_pid) == 1088);
#endif

#endif
