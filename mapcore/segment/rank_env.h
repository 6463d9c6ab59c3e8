/* SPDX-License-Identifier: Apache-2.0
 *
 * The environment variable that the plugin sets for the rank library, besides LD_PRELOAD. Its words
 * are separated by blanks; the rank skips unknown words:
 *
 *   ONDELOC_STEP="v1 fd=12 transport=auto interval_ms=500 local_ranks=4 world_ranks=8 job=7 step=0
 *                 moves=1 set=asan,policy,hfi"
 *
 * fd: the segment, inherited across exec under this number. The rank checks that it is a sealed
 * memfd of the right size with the right header before it maps it. moves: the rank keeps MPI and
 * PSM2 from binding it. set: the plugin's own, and the last word; it names the other variables that
 * the plugin has set, so that the plugin can remove them from jobs and steps that are submitted
 * from inside the step. If no rank is watched, the words from fd to moves are missing.
 */
#ifndef ONDELOC_MAPCORE_SEGMENT_RANK_ENV_H
#define ONDELOC_MAPCORE_SEGMENT_RANK_ENV_H

#define ONDELOC_ENV_STEP "ONDELOC_STEP"
#define ONDELOC_ENV_STEP_VERSION "v1"
#define ONDELOC_ENV_STEP_MOVES " moves=1"
#define ONDELOC_RANK_LIBRARY_NAME "libondeloc_rank.so"

/* Open MPI 4 binds a rank in MPI_Init if a policy in mca-params.conf says so and the rank's mask is
 * the whole cpuset; PSM2 binds it in any case. These variables keep both from doing so. */
#define ONDELOC_ENV_OPEN_MPI_BINDING "OMPI_MCA_hwloc_base_binding_policy"
#define ONDELOC_ENV_OPEN_MPI_BINDS_NOT "none"
#define ONDELOC_ENV_PSM2_BINDING "HFI_NO_CPUAFFINITY"
#define ONDELOC_ENV_PSM2_BINDS_NOT "1"

#endif
