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

  // Hands every whole record that has come to `handle`. False at end of file: slurmstepd is gone.
  bool drain(const std::function<void(const Record&)>& handle);
  bool open() const { return fd_ >= 0; }
  int fd() const { return fd_; }

 private:
  int fd_;
  std::vector<std::byte> pending_;
};

}  // namespace ondeloc
