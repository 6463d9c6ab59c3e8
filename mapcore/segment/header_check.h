/* SPDX-License-Identifier: Apache-2.0
 *
 * Computes the offsets in a segment from its two sizes, and checks a header that another process
 * wrote. C without any library, because the rank library uses it too. Pure functions. Copy the
 * header out of shared memory before the check: others can write to that memory. Units: bytes from
 * the start of the segment.
 */
#ifndef ONDELOC_MAPCORE_SEGMENT_HEADER_CHECK_H
#define ONDELOC_MAPCORE_SEGMENT_HEADER_CHECK_H

#include <stdbool.h>

#include "mapcore/segment/channel_layout.h"
#include "mapcore/segment/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

struct ondeloc_places {
  uint64_t slots_offset;
  uint64_t table_offset;
  uint64_t rows_offset;
  uint64_t row_stride;
  uint64_t segment_size; /* without the event channel, which begins here */
};

static inline uint64_t ondeloc_page_up(uint64_t bytes) {
  return (bytes + ONDELOC_PAGE - 1) / ONDELOC_PAGE * ONDELOC_PAGE;
}

/* Cells of ranks off the node: one for each rank of the world, so that the world rank is the index,
 * but at most ONDELOC_PEER_CELLS_MAX. 0 if all ranks are on one node; else a power of 2. */
static inline uint32_t ondeloc_peer_cells(uint32_t local_ranks, uint32_t world_ranks) {
  uint32_t cells = 1;
  if (local_ranks >= world_ranks) return 0;
  while (cells < world_ranks && cells < ONDELOC_PEER_CELLS_MAX) cells *= 2;
  return cells;
}

/* Words of the bits that tell which local ranks a row is about (used_cells.h). */
static inline uint64_t ondeloc_used_words(uint32_t local_ranks) {
  return ((uint64_t)local_ranks + 63) / 64;
}

/* Bytes of a row. */
static inline uint64_t ondeloc_row_size(uint32_t local_ranks, uint32_t world_ranks) {
  const uint64_t peers = ondeloc_peer_cells(local_ranks, world_ranks);
  return 2 * ((uint64_t)local_ranks + 1 + peers) * sizeof(struct ondeloc_cell) +
         peers * sizeof(uint32_t) + ondeloc_used_words(local_ranks) * sizeof(uint64_t);
}

/* This version has one layout for each pair of sizes. REQUIRES: both within their ONDELOC_MAX_*. */
static inline struct ondeloc_places ondeloc_places_of(uint32_t local_ranks, uint32_t world_ranks) {
  struct ondeloc_places p;
  p.slots_offset = ONDELOC_PAGE;
  p.table_offset = p.slots_offset + (uint64_t)local_ranks * sizeof(struct ondeloc_slot);
  p.rows_offset = ondeloc_page_up(p.table_offset + (uint64_t)world_ranks * sizeof(uint32_t));
  p.row_stride = ondeloc_page_up(ondeloc_row_size(local_ranks, world_ranks));
  p.segment_size = p.rows_offset + local_ranks * p.row_stride;
  return p;
}

/* NULL if the header describes a segment of this version in a file of file_size bytes; else the
 * fault in a few words. */
static inline const char* ondeloc_header_fault(const struct ondeloc_header* h, uint64_t file_size) {
  if (h->magic != ONDELOC_MAGIC) return "not a segment of ondeloc";
  if (h->version != ONDELOC_LAYOUT_VERSION) return "another version of the layout";
  if (h->header_size != sizeof(struct ondeloc_header) ||
      h->slot_size != sizeof(struct ondeloc_slot))
    return "another size of header or slot";
  if (h->local_ranks == 0 || h->local_ranks > ONDELOC_MAX_LOCAL_RANKS) return "bad local_ranks";
  if (h->world_ranks < h->local_ranks || h->world_ranks > ONDELOC_MAX_WORLD_RANKS)
    return "bad world_ranks";
  if (h->row_cells != h->local_ranks + 1) return "bad row_cells";
  if (h->peer_cells != ondeloc_peer_cells(h->local_ranks, h->world_ranks)) return "bad peer_cells";
  const struct ondeloc_places p = ondeloc_places_of(h->local_ranks, h->world_ranks);
  if (h->slots_offset != p.slots_offset || h->table_offset != p.table_offset ||
      h->rows_offset != p.rows_offset || h->row_stride != p.row_stride)
    return "offsets do not fit the sizes";
  if (h->record_cells > ONDELOC_RECORD_CELLS_MAX) return "bad record_cells";
  const uint64_t size = p.segment_size + ondeloc_channel_size(h->local_ranks, h->record_cells);
  if (h->segment_size != size || file_size != size)
    return "the file is not as long as the header says";
  return NULL; /* NOLINT(modernize-use-nullptr): C */
}

#ifdef __cplusplus
}
#endif

#endif
