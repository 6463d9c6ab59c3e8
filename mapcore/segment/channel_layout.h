/* SPDX-License-Identifier: Apache-2.0
 *
 * The event channel of `profile` mode carries every message of every local rank to the recorder. It
 * follows the rows of the segment (header.record_cells != 0).
 *
 * Built on the intra-node design of L. Chai, A. Hartono, D. K. Panda, "Designing High Performance
 * and Scalable MPI Intra-node Communication Support for Clusters", CLUSTER 2006: each rank owns a
 * pool of cells (8 KiB, 128 by default), fills one, marks it busy and passes its index through its
 * queue; the recorder polls one contiguous array of counters (total-in), copies the cell out and
 * marks it free; the rank finds free cells by sweeping its own pool (mark and sweep). Every word
 * has one reader and, at any time, one writer, so nobody locks or waits: a rank that finds no free
 * cell counts the messages that it drops. There are two exceptions. The writer of a cell's state
 * changes: the rank while the cell is free, the recorder while it is busy. Threads of a rank that
 * send at the same time take turns by a flag in the rank's own memory; a thread that gets no turn
 * adds to the crowded counters with atomic additions. The memory per node is linear in the number
 * of ranks. Only touched pages take memory, and a rank takes its lowest free cell first, so a
 * recorder that keeps up causes few touched pages.
 *
 *   offset from channel_offset      what                                              written by
 *   0                               uint64 queued[local_ranks]: cells passed on       the rank
 *   ondeloc_page_up(8 n)            uint64 taken[local_ranks]: cells drained          the recorder
 *   2 x ondeloc_page_up(8 n)        local_ranks pools of pool_stride bytes:
 *                                     struct ondeloc_pool (one page)
 *                                     record_cells x struct ondeloc_event_cell
 *
 * The number of queued cells never exceeds the number of cells, so the queue cannot overflow. The
 * cell being filled (pool.current) is readable up to its count, so the messages of a killed rank
 * are not lost. Times are CLOCK_MONOTONIC, bytes as sent. The recorder trusts nothing: it checks
 * indexes and counts against their bounds.
 */
#ifndef ONDELOC_MAPCORE_SEGMENT_CHANNEL_LAYOUT_H
#define ONDELOC_MAPCORE_SEGMENT_CHANNEL_LAYOUT_H

#include <stdint.h>

#include "mapcore/segment/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ONDELOC_EVENT_CELL_SIZE 8192u
#define ONDELOC_EVENTS_PER_CELL 511u
#define ONDELOC_RECORD_CELLS 128u     /* the default */
#define ONDELOC_RECORD_CELLS_MAX 256u /* a power of two: the length of the queue */

enum ondeloc_event_cell_state { ONDELOC_CELL_FREE = 0, ONDELOC_CELL_BUSY = 1 };

/* The rank fetched the bytes by one-sided communication. World ranks are smaller. */
#define ONDELOC_EVENT_FETCHED 0x80000000u

struct ondeloc_event {
  uint32_t after_ns; /* since the cell's base_ns; a cell is closed before this overflows (4.2 s) */
  uint32_t world; /* receiver; with ONDELOC_EVENT_FETCHED: sender, and the rank is the receiver */
  uint64_t bytes;
};

struct ondeloc_event_cell {
  uint64_t base_ns;
  uint32_t count; /* readable events: stored with release after each event */
  uint32_t reserved;
  struct ondeloc_event events[ONDELOC_EVENTS_PER_CELL];
};

struct ondeloc_pool {
  /* Written by the rank. */
  uint32_t current; /* cell being filled + 1, 0 = none */
  uint32_t reserved;
  uint64_t dropped_events;
  uint64_t dropped_bytes;
  uint64_t crowded_events; /* lost because another thread of the rank had the turn */
  uint64_t crowded_bytes;
  uint64_t reserved_line[3];
  uint32_t queue[ONDELOC_RECORD_CELLS_MAX]; /* place t % ONDELOC_RECORD_CELLS_MAX: the t-th cell */
  /* The rank sets busy, the recorder sets free. */
  uint32_t state[ONDELOC_RECORD_CELLS_MAX];
  uint32_t reserved_tail[(ONDELOC_PAGE - 64 - 8 * ONDELOC_RECORD_CELLS_MAX) / 4];
};

/* Bytes of the whole channel; 0 for 0 cells. */
static inline uint64_t ondeloc_channel_counters(uint32_t local_ranks) {
  return ((uint64_t)local_ranks * sizeof(uint64_t) + ONDELOC_PAGE - 1) / ONDELOC_PAGE *
         ONDELOC_PAGE;
}
static inline uint64_t ondeloc_pool_stride(uint32_t cells) {
  return sizeof(struct ondeloc_pool) + (uint64_t)cells * sizeof(struct ondeloc_event_cell);
}
static inline uint64_t ondeloc_channel_size(uint32_t local_ranks, uint32_t cells) {
  if (cells == 0) return 0;
  return 2 * ondeloc_channel_counters(local_ranks) + local_ranks * ondeloc_pool_stride(cells);
}

/* Places of one rank in a channel that starts at `base`. */
static inline uint64_t* ondeloc_queued(char* base, uint32_t local) {
  return (uint64_t*)(void*)base + local;
}
static inline uint64_t* ondeloc_taken(char* base, uint32_t local_ranks, uint32_t local) {
  return (uint64_t*)(void*)(base + ondeloc_channel_counters(local_ranks)) + local;
}
static inline struct ondeloc_pool* ondeloc_pool_at(char* base, uint32_t local_ranks, uint32_t cells,
                                                   uint32_t local) {
  return (struct ondeloc_pool*)(void*)(base + 2 * ondeloc_channel_counters(local_ranks) +
                                       local * ondeloc_pool_stride(cells));
}
static inline struct ondeloc_event_cell* ondeloc_event_cells(struct ondeloc_pool* pool) {
  return (struct ondeloc_event_cell*)(void*)(pool + 1);
}

#ifdef __cplusplus
}
static_assert(sizeof(ondeloc_event) == 16);
static_assert(sizeof(ondeloc_event_cell) == ONDELOC_EVENT_CELL_SIZE);
static_assert(sizeof(ondeloc_pool) == ONDELOC_PAGE);
static_assert(offsetof(ondeloc_pool, queue) == 64);
#endif

#endif
