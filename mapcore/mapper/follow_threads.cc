// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/follow_threads.h"

#include <poll.h>

#include <algorithm>

namespace ondeloc {

void follow_threads(pid_t pid, const HeldProcess& task, ThreadPlaces places) {
  constexpr int kShortest = 5, kLongest = 100;  // milliseconds
  for (int pause = kShortest;;) {
    pollfd end{task.fd(), POLLIN, 0};
    if (poll(&end, 1, pause) > 0 || task.seen_ended()) return;
    pause = places.look(pid) ? kShortest : std::min(pause + 1, kLongest);
  }
}

}  // namespace ondeloc
