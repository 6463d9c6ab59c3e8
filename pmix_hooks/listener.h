// SPDX-License-Identifier: Apache-2.0
// Receives the ranks' PMIx events (mapcore/segment/event_record.h) in slurmstepd and writes each as
// one record to the channel that the mapper reads.
//
// The handler runs as root in PMIx's progress thread, on payloads of the user. It checks the
// record, overwrites its world rank with the sender that PMIx names, makes one non-blocking write
// of at most ONDELOC_RECORD_MAX bytes, completes the event, calls what the plugin wants to do then
// (it reads energy counters now and then), and returns. It takes no lock, allocates no memory,
// writes no log and calls no function of Slurm.
//
// The plugin does not link libpmix but looks its functions up in the process: mpi/pmix has loaded
// them. PMIx outlives the plugin, so the code must stay mapped after dlclose (-z nodelete).
//
// Thread safety: start and stop from slurmstepd's main thread, one listener per process. Errors:
// listener_start says in one sentence why there are no events; the step runs without them.
#pragma once

#include <cstdint>

#include "mapcore/base/result.h"

namespace ondeloc {

struct ListenerCounts {
  std::uint64_t passed = 0;
  std::uint64_t dropped = 0;   // the channel was full or had no reader
  std::uint64_t rejected = 0;  // not a whole record, or not of the type that its code says
};

// From user_init on, when slurmstepd's PMIx server runs. `channel_fd`: write end of a non-blocking
// pipe. The caller keeps it open until listener_stop() has returned. `after_event` is called in
// PMIx's progress thread after each event; it must not block. Waits at most a second for PMIx.
Status listener_start(int channel_fd, void (*after_event)() = nullptr);

// Deregisters and waits, at most a second, until PMIx can make no later call. Does nothing if no
// listener was started.
void listener_stop();

ListenerCounts listener_counts();

}  // namespace ondeloc
