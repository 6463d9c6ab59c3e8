// SPDX-License-Identifier: Apache-2.0
// The rank's side of the shared segment: verified before it is mapped, then one slot and one row of
// it are used. Thread safety: attach and detach from one thread; notes from any. Errors: null or
// false; nothing is said, the mapper says it from the notes.
#pragma once

#include "mapcore/segment/channel_writer.h"
#include "mapcore/segment/layout.h"

#include "pmix_hooks/rank/peers.h"
#include "pmix_hooks/rank/step_env.h"

namespace ondeloc {

class RankSegment {
 public:
  // True when step.fd is a memfd, sealed against a change of size, with a header of ours whose
  // sizes are those of the step.
  bool open(const StepEnv& step);
  bool valid() const { return base_ != nullptr; }

  LocalTable table() const;
  // Local rank of a world rank, -1 when not on this node.
  int local_of(std::uint32_t world) const;
  ondeloc_slot& slot(int local) const;
  ondeloc_cell* row(int local) const;
  const std::uint64_t* tick() const;
  // Tells the mapper that a rank calls MPI_Init, so that it reads the topology meanwhile.
  void tell_start() const;
  // Starts the writer on the rank's pool; false where the segment has no event channel.
  bool start_recording(int local, ChannelWriter& writer) const;

  // Claims the row for this process by compare-and-swap of owner_pid: a row has one owner per step.
  bool claim(int local) const;
  void note(int local, std::uint32_t bits) const;
  // First touch: puts the pages of the first half of the row, and those that tell which cells are
  // in use, on the NUMA node where the rank now runs. The second half is mostly never used.
  void touch_row(int local) const;

 private:
  char* base_ = nullptr;
  ondeloc_header header_{};
};

}  // namespace ondeloc
