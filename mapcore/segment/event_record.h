/* SPDX-License-Identifier: Apache-2.0
 *
 * The record that a rank sends as a PMIx event and that the listener in slurmstepd passes on to the
 * mapper, version 1. It has at most ONDELOC_RECORD_MAX bytes, so that one write to the channel (a
 * pipe) is atomic. A PMIx event carries it as one info of key ONDELOC_RECORD_KEY and type
 * PMIX_BYTE_OBJECT.
 *
 * The listener checks magic, version, type and length, overwrites world_rank with the rank that
 * PMIx names as the sender, and writes the record. The mapper checks everything again. Payloads are
 * untrusted: the mapper uses no pid and no CPU from a record that the segment and /proc of the same
 * uid do not confirm.
 */
#ifndef ONDELOC_MAPCORE_SEGMENT_EVENT_RECORD_H
#define ONDELOC_MAPCORE_SEGMENT_EVENT_RECORD_H

#include <stdint.h>

#include "mapcore/segment/layout.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ONDELOC_RECORD_MAGIC 0x444Fu /* "OD" in memory */
#define ONDELOC_RECORD_VERSION 1u
#define ONDELOC_RECORD_MAX 4096u
#define ONDELOC_RECORD_KEY "ondeloc.record"

/* PMIx status codes: below PMIX_EXTERNAL_ERR_BASE (-3000). The record type is (ONDELOC_EVENT_BASE -
 * code). */
#define ONDELOC_EVENT_BASE (-482000)

enum ondeloc_record_type {
  ONDELOC_RECORD_ATTACH = 1,
  ONDELOC_RECORD_SAMPLE = 2,
  ONDELOC_RECORD_ROW = 3,
  ONDELOC_RECORD_DETACH = 4,
  ONDELOC_RECORD_END = 5, /* never an event: slurmstepd writes it when its last task has ended */
};

struct ondeloc_record_head {
  uint16_t magic;
  uint8_t version;
  uint8_t type;
  uint32_t length; /* of the whole record, head included */
  uint32_t world_rank;
  uint32_t pid;
};

/* ATTACH: end of MPI_Init. */
struct ondeloc_record_attach {
  struct ondeloc_record_head head;
  uint32_t local_rank;
  int32_t thread_level;
  uint32_t notes;
  uint32_t threads; /* of the process, now */
  uint64_t nodes;   /* bit k: NUMA node k (OS) is among the allowed CPUs' nodes; 0 = unknown */
  char cpus[256];   /* allowed CPUs, Linux list form, cut at a comma when too long */
  char library[40];
};

/* SAMPLE: whenever the tick has changed. Deltas since the last SAMPLE; sequence counts from 1. */
struct ondeloc_record_sample {
  struct ondeloc_record_head head;
  uint32_t sequence;
  int32_t cpu;
  int32_t node;
  uint32_t reserved;
  struct ondeloc_cell local;
  struct ondeloc_cell off_node;
};

/* ROW: running totals for some peers, transport=pmix. */
#define ONDELOC_ROW_OFF_NODE UINT32_MAX
struct ondeloc_row_entry {
  uint32_t peer;    /* world rank of a rank on this node, or ONDELOC_ROW_OFF_NODE */
  uint32_t fetched; /* 0: sent to the peer; else fetched from it */
  struct ondeloc_cell total;
};
struct ondeloc_record_row {
  struct ondeloc_record_head head;
  uint32_t count; /* entries that follow: length = sizeof(*this) + count * sizeof(entry) */
  uint32_t reserved;
};
#define ONDELOC_ROW_ENTRIES_MAX \
  ((ONDELOC_RECORD_MAX - sizeof(struct ondeloc_record_row)) / sizeof(struct ondeloc_row_entry))

/* DETACH: start of MPI_Finalize, running totals. */
struct ondeloc_record_detach {
  struct ondeloc_record_head head;
  uint32_t samples; /* SAMPLE events sent */
  uint32_t reserved;
  struct ondeloc_cell local;
  struct ondeloc_cell off_node;
};

/* Of two states of one kind of counter, the higher one is told. */
enum ondeloc_energy_state {
  ONDELOC_ENERGY_ABSENT = 0,     /* the kernel has no such counter, or nobody looked */
  ONDELOC_ENERGY_KNOWN = 1,      /* microjoules is a number */
  ONDELOC_ENERGY_WRAPPED = 2,    /* a counter may have wrapped `detail` times: more than once */
  ONDELOC_ENERGY_UNREADABLE = 3, /* detail: errno */
};
struct ondeloc_energy {
  uint32_t state;
  uint32_t detail;
  uint64_t microjoules;
};

/* END: counts of the listener, and the energy of the node from the first task's start to the last
 * one's end. */
struct ondeloc_record_end {
  struct ondeloc_record_head head;
  uint64_t dropped;   /* events lost because the channel was full */
  uint64_t rejected;  /* events that were not records */
  uint64_t energy_ns; /* time between the two readings; 0: nobody looked */
  struct ondeloc_energy package_energy;
  struct ondeloc_energy dram_energy;
};

#ifdef __cplusplus
}
static_assert(sizeof(ondeloc_record_head) == 16);
static_assert(sizeof(ondeloc_record_attach) == 336);
static_assert(sizeof(ondeloc_record_sample) == 64);
static_assert(sizeof(ondeloc_row_entry) == 24);
static_assert(sizeof(ondeloc_record_row) == 24);
static_assert(sizeof(ondeloc_record_detach) == 56);
static_assert(sizeof(ondeloc_record_end) == 72);
#endif

#endif
