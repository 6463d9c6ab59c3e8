// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/channel.h"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace ondeloc {

bool Channel::drain(const std::function<void(const Record&)>& handle) {
  std::array<std::byte, 65536> block;
  for (std::size_t taken = 0; fd_ >= 0 && taken < kMostAtOnce;) {
    const ssize_t got = read(fd_, block.data(), block.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) break;
    if (got <= 0) {
      fd_ = -1;
      break;
    }
    taken += static_cast<std::size_t>(got);
    pending_.insert(pending_.end(), block.begin(), block.begin() + got);
    std::span<const std::byte> rest(pending_);
    while (const auto record = take_record(rest)) handle(*record);
    pending_.erase(pending_.begin(), pending_.end() - static_cast<std::ptrdiff_t>(rest.size()));
  }
  return fd_ >= 0;
}

}  // namespace ondeloc
