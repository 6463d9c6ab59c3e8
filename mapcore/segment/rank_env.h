/* SPDX-License-Identifier: Apache-2.0
 *
 * The one environment variable that the plugin sets for the rank library (beside LD_PRELOAD). Blank
 * separated words, unknown words are skipped:
 *
 *   ONDELOC_STEP="v1 fd=12 transport=auto interval_ms=500 local_ranks=4 world_ranks=8 job=7 step=0
 *                 moves=1 set=asan,policy,hfi"
 *
 * moves: the rank keeps MPI and PSM2 from binding it. set= is the plugin's own, and the last:
 * which other variables it has set, so that it can take them out of what is submitted from inside
 * the step. Where no rank is watched it comes without the words from fd to moves.
 * fd is the segment, inherited across exec under this number; the rank checks that it is a sealed
 * memfd of the right size with the right header before it maps it.
 */
#ifndef ONDELOC_MAPCORE_SEGMENT_RANK_ENV_H
#define ONDELOC_MAPCORE_SEGMENT_RANK_ENV_H

#define ONDELOC_ENV_STEP "ONDELOC_STEP"
#define ONDELOC_ENV_STEP_VERSION "v1"
#define ONDELOC_ENV_STEP_MOVES " moves=1"
#define ONDELOC_RANK_LIBRARY_NAME "libondeloc_rank.so"

/* What keeps Open MPI 4 from binding a rank in MPI_Init as a policy in mca-params.conf says, when
 * the rank's mask is the whole cpuset; and PSM2 from doing so whatever the files say. */
#define ONDELOC_ENV_OPEN_MPI_BINDING "OMPI_MCA_hwloc_base_binding_policy"
#define ONDELOC_ENV_OPEN_MPI_BINDS_NOT "none"
#define ONDELOC_ENV_PSM2_BINDING "HFI_NO_CPUAFFINITY"
#define ONDELOC_ENV_PSM2_BINDS_NOT "1"

#endif
