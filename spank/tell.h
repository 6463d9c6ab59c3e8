// SPDX-License-Identifier: Apache-2.0
// Sentences for the user. All start with "ondeloc: ", all are one line. Thread safety: as
// slurm_spank_log, which may be called from any callback of this process.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ondeloc {

// To the user's terminal.
void tell(std::string_view sentence);
// The same if the user asked for ondeloc, else to slurmd's log.
void tell_or_log(std::string_view sentence);
// An internal failure: everything goes off; "ondeloc: <why>; the job runs on without it", told as
// soon as the terminal is connected if the user asked for ondeloc, else only logged.
void fail_open(std::string_view why);
// Tells what fail_open had to keep. From user_init on.
void tell_pending();
// Text of the mapper as lines fit for a terminal: at most 20, of at most 200 bytes each, without
// control characters. The mapper runs as the user, so this is untrusted.
std::vector<std::string> clean_lines(std::string_view text);

}  // namespace ondeloc
