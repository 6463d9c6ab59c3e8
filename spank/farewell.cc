// SPDX-License-Identifier: Apache-2.0
#include "spank/farewell.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <string>

#include "mapcore/segment/event_record.h"

#include "pmix_hooks/listener.h"
#include "spank/tell.h"

namespace ondeloc {
namespace {

using Clock = std::chrono::steady_clock;

// No longer than what a mapper that is still there costs after this: proctrack looks again after a
// second.
constexpr std::chrono::milliseconds kLongestWait(1000);
constexpr int kRoomWaitMs = 50;
constexpr std::size_t kMostText = 2048;

// False when nothing happened before `deadline`.
bool wait_for(int fd, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd wanted{fd, events, 0};
    const int ready = poll(&wanted, 1, static_cast<int>(left));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) return false;
  }
}

}  // namespace

void send_end(const Step& step) {
  ondeloc_record_end record{};
  record.head = {ONDELOC_RECORD_MAGIC,
                 ONDELOC_RECORD_VERSION,
                 ONDELOC_RECORD_END,
                 sizeof(record),
                 0,
                 static_cast<std::uint32_t>(step.stepd_pid)};
  const ListenerCounts counts = listener_counts();
  record.dropped = counts.dropped;
  record.rejected = counts.rejected;
  const int fd = step.channel.write.get();
  if (!wait_for(fd, POLLOUT, Clock::now() + std::chrono::milliseconds(kRoomWaitMs))) return;
  (void)!write(fd, &record, sizeof(record));
}

void tell_last_lines(const Step& step) {
  const auto deadline = Clock::now() + kLongestWait;
  std::string text;
  bool ended = false;
  while (text.size() < kMostText && wait_for(step.say.get(), POLLIN, deadline)) {
    char piece[kMostText];
    const ssize_t got = read(step.say.get(), piece, sizeof(piece) - text.size());
    ended = got == 0;
    if (ended) break;
    if (got > 0) text.append(piece, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR && errno != EAGAIN) break;
  }
  for (const std::string& line : clean_lines(text)) tell(line);
  // The mapper begins its last words with an empty line.
  if (ended && !text.starts_with('\n') && step.options.mode == Mode::kProfile)
    tell("the recorder was killed: the profile ends early, its complete blocks are usable");
}

}  // namespace ondeloc
