// SPDX-License-Identifier: Apache-2.0
// The ears in slurmstepd: takes the ranks' PMIx events (mapcore/segment/event_record.h) and writes
// each as one record to the channel that the mapper reads.
//
// Runs as root in PMIx's progress thread, on payloads of the user: the handler checks the record,
// overwrites its world rank with the sender that PMIx names, makes one non-blocking write of at
// most ONDELOC_RECORD_MAX bytes, completes the event and returns. It takes no lock, allocates
// nothing, logs nothing, calls nothing of Slurm.
//
// No link to libpmix: its functions are found in the process (mpi/pmix has loaded them). The code
// must stay mapped after dlclose (link with -z nodelete), because PMIx outlives the plugin.
//
// Thread safety: start and stop from slurmstepd's main thread, one listener per process. Errors:
// listener_start says in one sentence why there are no events; the step runs on without.
#pragma once

#include <cstdint>

#include "mapcore/base/result.h"

namespace ondeloc {

struct ListenerCounts {
  std::uint64_t passed = 0;
  std::uint64_t dropped = 0;   // the channel was full or its reader gone
  std::uint64_t rejected = 0;  // not a whole record, or not of the type that its code says
};

// From user_init on, when slurmstepd's PMIx server is up. `channel_fd`: write end of a non-blocking
// pipe; stays the caller's and must stay open until listener_stop() has returned. Waits at most a
// second for PMIx.
Status listener_start(int channel_fd);

// Deregisters and waits (at most a second) until no later call can come. Harmless when not started.
void listener_stop();

ListenerCounts listener_counts();

}  // namespace ondeloc
