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
// An internal failure: everything goes off; "ondeloc: <why>; the job runs on without it" is kept
// until tell_pending.
void fail_open(std::string_view why);
// What fail_open has kept: one line, to the terminal (from user_init on it is connected) of a user
// who asked for ondeloc, else and unless `to_user` to slurmd's log alone.
void tell_pending(bool to_user = true);
// Text of the mapper as lines fit for a terminal: at most 20, of at most 200 bytes each, without
// control characters. The mapper runs as the user, so this is untrusted.
std::vector<std::string> clean_lines(std::string_view text);

}  // namespace ondeloc
