// SPDX-License-Identifier: Apache-2.0
// Sentences for the user. Each is one line that begins with "ondeloc: ". Thread safety: as
// slurm_spank_log, which any callback of this process may call.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spank/step.h"

namespace ondeloc {

// To the user's terminal, and to slurmd's log.
void log_to_user(std::string_view sentence);
// To slurmd's log alone, with job, step and user before the sentence: those that read the log know
// whose text it is. Before read_identity() the sentence stands alone.
void log_to_site(const Step& step, std::string_view sentence);
// log_to_user() if the user requested ondeloc, else log_to_site().
void log_to_requester(const Step& step, std::string_view sentence);
// Turns ondeloc off for this step because of an internal failure. "<why>; the job runs on without
// it" is kept until flush_pending().
void fail_open(Step& step, std::string_view why);
// Logs the sentence that fail_open has kept. The user's terminal is connected from user_init on.
void flush_pending(Step& step);
struct CleanLine {
  std::string text;
  bool for_log = false;  // for the administrator (mapper_messages.h)
};
// Splits untrusted text of the mapper, which runs as the user, into lines for terminals and log
// files: at most 20, each printable() and of at most 400 bytes. A line that was cut ends with dots.
// A line for the user that begins as those of log_to_site() do gets "mapper: " in front.
std::vector<CleanLine> clean_lines(std::string_view text);

}  // namespace ondeloc
