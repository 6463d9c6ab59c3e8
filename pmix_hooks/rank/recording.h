// SPDX-License-Identifier: Apache-2.0
// `profile` mode in the rank: every message as an event into the rank's pool of the event channel
// (mapcore/segment/channel_writer.h). Thread safety: record<true> from any thread, record<false>
// from one at a time.
#pragma once

#include "mapcore/segment/channel_writer.h"

namespace ondeloc {

// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): constinit where it is defined
extern ChannelWriter recording;  // started at attach, before the hooks are installed

template <bool kMultiple>
inline void record(std::uint32_t world, std::uint64_t bytes) {
  if constexpr (kMultiple) {
    recording.write_shared(world, bytes);
  } else {
    recording.write(monotonic_ns(), world, bytes);
  }
}

}  // namespace ondeloc
