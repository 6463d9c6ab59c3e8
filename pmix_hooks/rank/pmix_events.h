// SPDX-License-Identifier: Apache-2.0
// Sends records (mapcore/segment/event_record.h) as PMIx events: RANGE_LOCAL, and always with
// PMIX_EVENT_NON_DEFAULT and PMIX_EVENT_DO_NOT_CACHE, because without the first Slurm's own handler
// kills the step. Always with a callback: until it comes, the buffer of the event stays PMIx's.
//
// A few static buffers; when all are with PMIx an event that can wait is given up, one that cannot
// waits for a bounded time. Thread safety: any thread. Errors: false, and the event is lost.
#pragma once

#include <cstdint>

namespace ondeloc {

// True when this process is a PMIx client with a rank (environment and PMIx_Initialized).
bool events_start();

// `record` begins with an ondeloc_record_head and is at most ONDELOC_RECORD_MAX bytes long.
bool send_event(int record_type, const void* record, std::uint32_t length, bool wait_for_buffer);

// Ranks of this job on this node, from the client's own PMIx store: ascending, at most `max`. How
// many there are, 0 when unknown. Called once, from attach.
std::uint32_t local_peers(std::uint32_t* ranks, std::uint32_t max);

}  // namespace ondeloc
