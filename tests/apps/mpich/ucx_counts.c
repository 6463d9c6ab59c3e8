/* SPDX-License-Identifier: Apache-2.0
 * Preloaded in front of MPICH: counts everything that it hands to UCX, by endpoint. Debian's MPICH
 * is built so that all its messages, also those inside a node, are sent by ucp_tag_send_nbx() and
 * ucp_tag_send_sync_nbx(). The truth for a model of its collectives.
 * A rank that waits gives its CPU away: tests have more ranks than the machine has CPUs. */
#define _GNU_SOURCE
#include "ucx_counts.h"

#include <dlfcn.h>
#include <sched.h>
#include <string.h>
#include <ucp/api/ucp.h>

enum { kEndpoints = 256, kTypes = 256 };

static struct {
  ucp_ep_h endpoint;
  struct ucx_cell cell;
} endpoints[kEndpoints];
static int endpoint_count;

static struct {
  ucp_datatype_t type;
  ucp_generic_dt_ops_t operations;
  void* context;
} types[kTypes];
static int type_count;

#define REAL(NAME)                 \
  static __typeof__(&(NAME)) real; \
  if (real == NULL) real = (__typeof__(real))dlsym(RTLD_NEXT, #NAME)

int ucx_counts(struct ucx_cell* cells, int most) {
  for (int i = 0; i < endpoint_count && i < most; ++i) cells[i] = endpoints[i].cell;
  return endpoint_count;
}

static void add(ucp_ep_h endpoint, unsigned long long bytes) {
  int i = 0;
  while (i < endpoint_count && endpoints[i].endpoint != endpoint) ++i;
  if (i == kEndpoints) return;
  if (i == endpoint_count) endpoints[endpoint_count++].endpoint = endpoint;
  endpoints[i].cell.bytes += bytes;
  ++endpoints[i].cell.messages;
}

/* The operations lie on the stack of MPICH. */
ucs_status_t ucp_dt_create_generic(const ucp_generic_dt_ops_t* operations, void* context,
                                   ucp_datatype_t* type) {
  REAL(ucp_dt_create_generic);
  const ucs_status_t status = real(operations, context, type);
  int i = 0;
  while (i < type_count && types[i].type != *type) ++i;
  if (i == kTypes) return status;
  if (i == type_count) ++type_count;
  types[i].type = *type;
  types[i].operations = *operations;
  types[i].context = context;
  return status;
}

/* Without `finish`, which would give up a reference that MPICH holds. */
static unsigned long long packed(const void* buffer, size_t count, ucp_datatype_t type) {
  for (int i = 0; i < type_count; ++i)
    if (types[i].type == type)
      return types[i].operations.packed_size(
          types[i].operations.start_pack(types[i].context, buffer, count));
  return 0;
}

static unsigned long long size_of(const void* buffer, size_t count,
                                  const ucp_request_param_t* param) {
  if ((param->op_attr_mask & UCP_OP_ATTR_FIELD_DATATYPE) == 0) return count;
  if ((param->datatype & UCP_DATATYPE_CLASS_MASK) == UCP_DATATYPE_CONTIG)
    return count * (param->datatype >> UCP_DATATYPE_SHIFT);
  return packed(buffer, count, param->datatype);
}

ucs_status_ptr_t ucp_tag_send_nbx(ucp_ep_h endpoint, const void* buffer, size_t count,
                                  ucp_tag_t tag, const ucp_request_param_t* param) {
  REAL(ucp_tag_send_nbx);
  add(endpoint, size_of(buffer, count, param));
  return real(endpoint, buffer, count, tag, param);
}

ucs_status_ptr_t ucp_tag_send_sync_nbx(ucp_ep_h endpoint, const void* buffer, size_t count,
                                       ucp_tag_t tag, const ucp_request_param_t* param) {
  REAL(ucp_tag_send_sync_nbx);
  add(endpoint, size_of(buffer, count, param));
  return real(endpoint, buffer, count, tag, param);
}

unsigned ucp_worker_progress(ucp_worker_h worker) {
  REAL(ucp_worker_progress);
  const unsigned done = real(worker);
  if (done == 0) sched_yield();
  return done;
}
