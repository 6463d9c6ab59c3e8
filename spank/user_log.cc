// SPDX-License-Identifier: Apache-2.0
#include "spank/user_log.h"

#include "mapcore/base/printable.h"
#include "mapcore/base/text.h"

#include "spank/slurm_spank.h"

namespace ondeloc {
namespace {

// slurm_error would reach the user's terminal.
void log_to_slurmd(std::string_view sentence) {
  slurm_info("ondeloc: %.*s", static_cast<int>(sentence.size()), sentence.data());
}

}  // namespace

void log_to_user(std::string_view sentence) {
  slurm_spank_log("ondeloc: %.*s", static_cast<int>(sentence.size()), sentence.data());
}

void log_to_requester(const Step& step, std::string_view sentence) {
  step.request.user_requested ? log_to_user(sentence) : log_to_slurmd(sentence);
}

void fail_open(Step& step, std::string_view why) {
  step.request.watch = step.request.bind = false;
  step.state.pending = std::string(why) + "; the job runs on without it";
}

void flush_pending(Step& step, bool to_user) {
  if (step.state.pending.empty()) return;
  to_user ? log_to_requester(step, step.state.pending) : log_to_slurmd(step.state.pending);
  step.state.pending.clear();
}

std::vector<std::string> clean_lines(std::string_view text) {
  constexpr std::size_t kMostLines = 20, kLongest = 200;
  std::vector<std::string> lines;
  for (const std::string_view raw : split(text, '\n')) {
    if (raw.empty() || lines.size() == kMostLines) continue;
    lines.push_back(printable(raw.substr(0, cut_length(raw, kLongest))));
  }
  return lines;
}

}  // namespace ondeloc
