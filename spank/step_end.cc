// SPDX-License-Identifier: Apache-2.0
#include "spank/step_end.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string>

#include "mapcore/options/mapper_messages.h"
#include "mapcore/segment/event_record.h"

#include "pmix_hooks/listener.h"
#include "spank/user_log.h"

namespace ondeloc {
namespace {

using Clock = std::chrono::steady_clock;

// A file that the user requested is worth a wait for a slow disk or a busy node. Without a file the
// wait is no longer than the second that proctrack waits for a process that it still finds.
constexpr std::chrono::seconds kLongestWaitForFile(10), kLongestWait(1);
constexpr int kRoomWaitMs = 50;
// From the mapper's last word to the closing of its descriptors: proctrack waits a second for a
// process that it still finds. Another process of the user may keep the pipe open for longer.
constexpr std::chrono::milliseconds kExitWait(50);

// False if nothing happened before `deadline`.
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

// A report that the mapper wrote while the step ran is still there.
void log_early_end(const Step& step, int last_status) {
  const bool report = !step.request.options.report.empty();
  if (step.request.options.mode == Mode::kProfile) {
    log_to_requester(
        step, "the recorder was killed: the profile ends early, its complete blocks are usable");
  } else if (!was_killed(last_status)) {
    log_to_requester(step,
                     fmt::format("the mapper ended before the ranks: they stay where they are{}",
                                 report ? ", and the report is preliminary or missing" : ""));
  } else if (report) {
    log_to_requester(step,
                     "the mapper was killed with the step: the report is preliminary or missing");
  }
}

// If somebody has ended the step with SIGKILL, nobody waits for the mapper's file.
void log_late_end(const Step& step, int last_status) {
  if (was_killed(last_status)) return;
  if (step.request.options.mode == Mode::kProfile) {
    log_to_requester(
        step,
        "the recorder is not done 10 s after the last task: the profile may end early, its "
        "complete blocks are usable");
  } else if (!step.request.options.report.empty()) {
    log_to_requester(step,
                     "the mapper is not done 10 s after the last task: the report may be missing");
  } else if (step.request.reports_to_site()) {
    log_to_site(step,
                "the mapper is not done 10 s after the last task: the report in report-dir= may be "
                "missing");
  } else if (step.request.options.verbose) {
    log_to_requester(step, "the mapper is not done 1 s after the last task: its lines are missing");
  } else if (step.request.site.log != SiteLog::kNone) {
    log_to_site(step,
                "the mapper is not done 1 s after the last task: the line of log= is missing");
  }
}

struct ReadText {
  std::string text;
  bool at_end = false;  // nobody can write any more
};

// A loader's warnings, and the mapper's part.
constexpr std::size_t kMostRead = 2 * kMaxMessages;

// Up to the mapper's last word, the end of the pipe or the deadline.
ReadText read_messages(int fd, Clock::time_point deadline) {
  ReadText all;
  bool is_complete = false;
  while (all.text.size() < kMostRead && wait_for(fd, POLLIN, deadline)) {
    char piece[kMostRead];
    const ssize_t got = read(fd, piece, sizeof(piece) - all.text.size());
    all.at_end = got == 0;
    if (all.at_end) break;
    if (got > 0) all.text.append(piece, static_cast<std::size_t>(got));
    if (got < 0 && errno != EINTR && errno != EAGAIN) break;
    if (!is_complete && decode_messages(all.text).is_complete) {
      is_complete = true;
      deadline = std::min(deadline, Clock::now() + kExitWait);
    }
  }
  return all;
}

bool writes_file(const Step& step) {
  const Request& request = step.request;
  return request.options.mode == Mode::kProfile || !request.options.report.empty() ||
         request.reports_to_site();
}

}  // namespace

void send_end(Step& step) {
  ondeloc_record_end record{};
  record.head = {ONDELOC_RECORD_MAGIC,
                 ONDELOC_RECORD_VERSION,
                 ONDELOC_RECORD_END,
                 sizeof(record),
                 0,
                 static_cast<std::uint32_t>(step.identity.stepd_pid)};
  const ListenerCounts counts = listener_counts();
  record.dropped = counts.dropped;
  record.rejected = counts.rejected;
  step.state.energy.finish(record);
  const int fd = step.fds.channel.write.get();
  if (!wait_for(fd, POLLOUT, Clock::now() + std::chrono::milliseconds(kRoomWaitMs))) return;
  (void)!write(fd, &record, sizeof(record));
}

void relay_mapper_messages(const Step& step, int last_status) {
  const auto deadline = Clock::now() + (writes_file(step) ? kLongestWaitForFile : kLongestWait);
  const ReadText read = read_messages(step.fds.messages.get(), deadline);
  const MapperMessages messages = decode_messages(read.text);
  for (const CleanLine& line : clean_lines(messages.text))
    line.for_log ? log_to_site(step, line.text) : log_to_requester(step, line.text);
  if (!messages.was_started || messages.has_begun) return;
  if (const auto causes = clean_lines(messages.before); !causes.empty())
    log_to_requester(step,
                     fmt::format("the mapper did not start, the ranks stay where they are: {}",
                                 causes.front().text));
  else if (read.at_end)
    log_early_end(step, last_status);
  else
    log_late_end(step, last_status);
}

}  // namespace ondeloc
