// SPDX-License-Identifier: Apache-2.0
// The origin of a run, for whoever reads its report later: program, arguments, user, date and
// versions. Reads /proc as the user, so call it while the ranks run. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "mapcore/step/ranks.h"

namespace ondeloc {

// Name and text. A fact that is not known is left out: without a rank that called MPI_Init with
// ondeloc's library, the program and the date. `partition`: of the job; empty: unknown. `restarts`:
// of a requeued job.
std::vector<std::pair<std::string, std::string>> origin_of(const Ranks& ranks,
                                                           const std::string& partition,
                                                           std::uint32_t restarts);

// The words of /proc/PID/cmdline, as a shell would read them back.
std::string command_text(std::string_view words);

}  // namespace ondeloc
