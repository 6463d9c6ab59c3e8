// SPDX-License-Identifier: Apache-2.0
#include "spank/user_log.h"

#include <fmt/format.h>

#include "mapcore/base/printable.h"
#include "mapcore/base/text.h"
#include "mapcore/options/mapper_messages.h"

#include "spank/slurm_spank.h"

namespace ondeloc {
namespace {

// Begins the lines of log_to_site(), and no other line.
constexpr std::string_view kWho = "job ";

// slurm_error would reach the user's terminal.
void log_to_slurmd(std::string_view sentence) {
  slurm_info("ondeloc: %.*s", static_cast<int>(sentence.size()), sentence.data());
}

// A reader has to see that the sentence goes on.
std::string clean_line(std::string_view raw) {
  constexpr std::size_t kLongest = 400;
  constexpr std::string_view kCut = "...";
  if (raw.size() <= kLongest) return printable(raw);
  return printable(raw.substr(0, cut_length(raw, kLongest - kCut.size()))).append(kCut);
}

// slurmd's log has the lines for users too. A user could forge one about another user's job.
std::string not_for_site(std::string_view raw) {
  return trim_blanks(raw).starts_with(kWho) ? fmt::format("mapper: {}", raw) : std::string(raw);
}

}  // namespace

void log_to_user(std::string_view sentence) {
  slurm_spank_log("ondeloc: %.*s", static_cast<int>(sentence.size()), sentence.data());
}

void log_to_site(const Step& step, std::string_view sentence) {
  const StepIdentity& who = step.identity;
  if (who.job_id == 0) return log_to_slurmd(sentence);  // before read_identity()
  log_to_slurmd(
      fmt::format("{}{} step {} user {}: {}", kWho, who.job_id, who.step_id, who.uid, sentence));
}

void log_to_requester(const Step& step, std::string_view sentence) {
  step.request.user_requested ? log_to_user(sentence) : log_to_site(step, sentence);
}

void fail_open(Step& step, std::string_view why) {
  step.request.watch = step.request.bind = false;
  step.state.pending = std::string(why) + "; the job runs on without it";
}

void flush_pending(Step& step) {
  if (step.state.pending.empty()) return;
  log_to_requester(step, step.state.pending);
  step.state.pending.clear();
}

std::vector<CleanLine> clean_lines(std::string_view text) {
  constexpr std::size_t kMostLines = 20;
  std::vector<CleanLine> lines;
  for (std::string_view raw : split(text, '\n')) {
    const bool for_log = raw.starts_with(kForLog);
    if (for_log) raw.remove_prefix(1);
    if (raw.empty() || lines.size() == kMostLines) continue;
    lines.push_back({for_log ? clean_line(raw) : clean_line(not_for_site(raw)), for_log});
  }
  return lines;
}

}  // namespace ondeloc
