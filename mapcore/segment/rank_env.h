/* SPDX-License-Identifier: Apache-2.0
 *
 * The one environment variable that the plugin sets for the rank library (beside LD_PRELOAD). Blank
 * separated words, unknown words are skipped:
 *
 *   ONDELOC_STEP="v1 fd=12 transport=auto interval_ms=500 local_ranks=4 world_ranks=8 job=7 step=0
 *                 set=asan,policy,hfi"
 *
 * set= is the plugin's own: which other variables it has set, so that it can take them out of what
 * is submitted from inside the step. Where no rank is watched it comes without the words from fd on.
 * fd is the segment, inherited across exec under this number; the rank checks that it is a sealed
 * memfd of the right size with the right header before it maps it.
 */
#ifndef ONDELOC_MAPCORE_SEGMENT_RANK_ENV_H
#define ONDELOC_MAPCORE_SEGMENT_RANK_ENV_H

#define ONDELOC_ENV_STEP "ONDELOC_STEP"
#define ONDELOC_ENV_STEP_VERSION "v1"
#define ONDELOC_RANK_LIBRARY_NAME "libondeloc_rank.so"

#endif
