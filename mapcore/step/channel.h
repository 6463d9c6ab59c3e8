// SPDX-License-Identifier: Apache-2.0
// The mapper's end of the pipe that carries event records from slurmstepd.
// Thread safety: for one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "mapcore/segment/record_check.h"

namespace ondeloc {

class Channel {
 public:
  // Does not own `fd`, which must be non-blocking; -1: no channel.
  explicit Channel(int fd) : fd_(fd) {}

  // Hands the whole records that have come to `handle`. Reads at most kMostAtOnce bytes, so that a
  // rank that floods the channel cannot keep the caller here; the rest waits for the next call.
  // False at end of file: slurmstepd has ended.
  static constexpr std::size_t kMostAtOnce = std::size_t{4} << 20;
  bool drain(const std::function<void(const Record&)>& handle);
  bool open() const { return fd_ >= 0; }
  int fd() const { return fd_; }

 private:
  int fd_;
  std::vector<std::byte> pending_;
};

}  // namespace ondeloc
