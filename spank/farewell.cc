// SPDX-License-Identifier: Apache-2.0
#include "spank/farewell.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>
#include <string_view>

#include "mapcore/segment/event_record.h"

#include "pmix_hooks/listener.h"
#include "spank/tell.h"

namespace ondeloc {
namespace {

using Clock = std::chrono::steady_clock;

// What the user has asked for is worth a wait for a slow disk or a busy node. Without it: no longer
// than what a mapper that is still there costs after this, since proctrack looks again after a
// second.
constexpr std::chrono::seconds kLongestWaitForFile(10), kLongestWait(1);
constexpr int kRoomWaitMs = 50;
constexpr std::size_t kMostText = 1 + 2048;

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

bool was_killed(int status) { return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL; }

// What it wrote while the step ran, if that was long enough, is still there.
void tell_early_end(const Step& step, int last_status) {
  const bool report = !step.options.report.empty();
  if (step.options.mode == Mode::kProfile) {
    tell_or_log("the recorder was killed: the profile ends early, its complete blocks are usable");
  } else if (!was_killed(last_status)) {
    tell_or_log(fmt::format("the mapper ended before the ranks: they stay where they are{}",
                            report ? ", and the report is preliminary or missing" : ""));
  } else if (report) {
    tell_or_log("the mapper was killed with the step: the report is preliminary or missing");
  }
}

// Where somebody ended the step with SIGKILL nobody waits for what it leaves.
void tell_late_end(const Step& step, int last_status) {
  if (was_killed(last_status)) return;
  if (step.options.mode == Mode::kProfile) {
    tell_or_log(
        "the recorder is not done 10 s after the last task: the profile may end early, its "
        "complete blocks are usable");
  } else if (!step.options.report.empty()) {
    tell_or_log("the mapper is not done 10 s after the last task: the report may be missing");
  }
}

bool writes_file(const Step& step) {
  return step.options.mode == Mode::kProfile || !step.options.report.empty();
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

void tell_last_lines(const Step& step, int last_status) {
  const auto deadline = Clock::now() + (writes_file(step) ? kLongestWaitForFile : kLongestWait);
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
  std::string_view said(text);
  const bool started = said.starts_with(kMapperStarted);
  if (started) said.remove_prefix(1);
  for (const std::string& line : clean_lines(said)) tell_or_log(line);
  if (!started || said.starts_with('\n')) return;
  if (ended)
    tell_early_end(step, last_status);
  else
    tell_late_end(step, last_status);
}

}  // namespace ondeloc
