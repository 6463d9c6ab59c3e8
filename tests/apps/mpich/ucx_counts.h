/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ONDELOC_TESTS_APPS_MPICH_UCX_COUNTS_H
#define ONDELOC_TESTS_APPS_MPICH_UCX_COUNTS_H

struct ucx_cell {
  unsigned long long bytes, messages;
};

/* One cell for each endpoint, in the order of their first use; how many there are. */
int ucx_counts(struct ucx_cell* cells, int most);

#endif
