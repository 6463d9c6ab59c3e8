/* SPDX-License-Identifier: Apache-2.0 */
#include "counts.h"

#include <stdio.h>
#include <stdlib.h>

static int self, size;
static long long *bytes_to, *messages_to, *bytes_from, *messages_from;
static int skip;

void counts_begin(int world_rank, int world_size) {
  self = world_rank;
  size = world_size;
  bytes_to = calloc((size_t)size, sizeof(*bytes_to));
  messages_to = calloc((size_t)size, sizeof(*messages_to));
  bytes_from = calloc((size_t)size, sizeof(*bytes_from));
  messages_from = calloc((size_t)size, sizeof(*messages_from));
  skip = self == 0 && getenv("COUNT_SKIP_ONE") != NULL;
}

void counts_add(int world_destination, long long bytes) {
  if (world_destination < 0 || world_destination >= size) return;
  if (world_destination != self && __atomic_exchange_n(&skip, 0, __ATOMIC_RELAXED)) return;
  __atomic_fetch_add(&bytes_to[world_destination], bytes, __ATOMIC_RELAXED);
  __atomic_fetch_add(&messages_to[world_destination], 1, __ATOMIC_RELAXED);
}

void counts_add_from(int world_source, long long bytes) {
  if (world_source < 0 || world_source >= size) return;
  __atomic_fetch_add(&bytes_from[world_source], bytes, __ATOMIC_RELAXED);
  __atomic_fetch_add(&messages_from[world_source], 1, __ATOMIC_RELAXED);
}

void counts_end(void) {
  const char* prefix = getenv("COUNT_OUT");
  char path[4096];
  if (prefix == NULL) return;
  snprintf(path, sizeof(path), "%s.%d", prefix, self);
  FILE* out = fopen(path, "w");
  if (out == NULL) {
    perror(path);
    exit(1);
  }
  for (int d = 0; d < size; ++d)
    if (messages_to[d] > 0) fprintf(out, "%d %lld %lld\n", d, bytes_to[d], messages_to[d]);
  for (int s = 0; s < size; ++s)
    if (messages_from[s] > 0)
      fprintf(out, "from %d %lld %lld\n", s, bytes_from[s], messages_from[s]);
  fclose(out);
}

int counts_dry(void) { return getenv("COUNT_DRY") != NULL; }

int counts_persistent(void) { return getenv("COUNT_NO_PERSISTENT") == NULL; }
