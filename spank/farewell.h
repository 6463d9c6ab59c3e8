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
// Waits at most a second for the mapper's end and tells its lines. Mostly it has ended by then. One
// that writes a large report on a slow disk has not, and to wait less would bring nothing:
// proctrack finds it after this, and sleeps for a second itself before it looks again. What it may
// have left undone is told then.
// `last_status`: wait status of the last task. Where that was killed, so may be the mapper, by
// whoever ended the step.
void tell_last_lines(const Step& step, int last_status);

}  // namespace ondeloc
