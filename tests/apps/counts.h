/* SPDX-License-Identifier: Apache-2.0
 *
 * Keeps a test program's own account of its messages, which the test compares with ondeloc's
 * counts. It calls no MPI, so that C, Fortran (bind(C)) and any thread can use it.
 *
 * Environment:
 *   COUNT_OUT        each rank writes COUNT_OUT.<world rank>: lines "dst bytes messages" (world
 *                    ranks), and lines "from src bytes messages" for what it fetched
 *   COUNT_SKIP_ONE   the known miscount: rank 0 leaves its first message to another rank out of
 *                    what it says, and sends it
 *   COUNT_DRY        do everything but the messages themselves (communicators are still made), to
 *                    learn what the MPI library sends by itself
 *   COUNT_NO_PERSISTENT  no persistent requests, which Open MPI's monitoring does not see
 */
#ifndef ONDELOC_TESTS_APPS_COUNTS_H
#define ONDELOC_TESTS_APPS_COUNTS_H

void counts_begin(int world_rank, int world_size);
void counts_add(int world_destination, long long bytes); /* one message; any thread */
void counts_add_from(int world_source, long long bytes); /* one fetch */
void counts_end(void);                                   /* writes the file */
int counts_dry(void);
int counts_persistent(void);

#endif
