// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/end_watch.h"

#include <sys/epoll.h>

#include <array>

namespace ondeloc {

EndWatch::EndWatch() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

bool EndWatch::add(int pidfd, int number) {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLONESHOT;  // who has ended stays readable
  event.data.fd = number;
  return epoll_.valid() && pidfd >= 0 && epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, pidfd, &event) == 0;
}

std::vector<int> EndWatch::take_ended() {
  std::vector<int> ended;
  std::array<epoll_event, 64> events;
  int count = epoll_.valid() ? epoll_wait(epoll_.get(), events.data(), events.size(), 0) : 0;
  while (count > 0) {
    for (int i = 0; i < count; ++i) ended.push_back(events[static_cast<std::size_t>(i)].data.fd);
    count = epoll_wait(epoll_.get(), events.data(), events.size(), 0);
  }
  return ended;
}

}  // namespace ondeloc
