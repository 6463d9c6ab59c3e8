// SPDX-License-Identifier: Apache-2.0
#include "spank/tell.h"

#include <algorithm>

#include "mapcore/base/text.h"

#include "spank/slurm_spank.h"
#include "spank/step.h"

namespace ondeloc {

void tell(std::string_view sentence) {
  slurm_spank_log("ondeloc: %.*s", static_cast<int>(sentence.size()), sentence.data());
}

void tell_or_log(std::string_view sentence) {
  if (step().asked)
    tell(sentence);
  else
    slurm_info("ondeloc: %.*s", static_cast<int>(sentence.size()), sentence.data());
}

void fail_open(std::string_view why) {
  Step& s = step();
  s.watch = s.bind = false;
  s.pending = std::string(why) + "; the job runs on without it";
}

void tell_pending(bool to_user) {
  Step& s = step();
  if (s.pending.empty()) return;
  if (s.asked && to_user)
    tell(s.pending);  // in slurmd's log, too
  else
    slurm_info("ondeloc: %s", s.pending.c_str());  // slurm_error would reach the terminal
  s.pending.clear();
}

std::vector<std::string> clean_lines(std::string_view text) {
  constexpr std::size_t kMostLines = 20, kLongest = 200;
  std::vector<std::string> lines;
  for (const std::string_view raw : split(text, '\n')) {
    if (raw.empty() || lines.size() == kMostLines) continue;
    std::string line(raw.substr(0, kLongest));
    std::replace_if(line.begin(), line.end(), is_control, '?');
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace ondeloc
