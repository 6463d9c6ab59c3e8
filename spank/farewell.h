// SPDX-License-Identifier: Apache-2.0
// The end of a step: after its last task has ended, slurmstepd tells the mapper and passes on what
// it has to say to the user. Bounded in time and size; no signal, no waitpid.
#pragma once

#include "spank/step.h"

namespace ondeloc {

// What start_mapper puts into the mapper's pipe ahead of the mapper's own words, which begin with
// an empty line: nothing behind it means that the mapper did not come to its end.
inline constexpr char kMapperStarted = '+';

// One END record into the channel; lost when the channel stays full.
void send_end(const Step& step);
// Waits for the mapper's end and tells its lines: at most a second, or ten where it writes a report
// or a profile, since proctrack kills it after this. Mostly it has ended before; a cancelled step's
// mapper is killed with the ranks, which ends the wait. What it may have left undone is told then.
// `last_status`: wait status of the last task. Where that was killed, so may be the mapper, by
// whoever ended the step.
void tell_last_lines(const Step& step, int last_status);

}  // namespace ondeloc
