// SPDX-License-Identifier: Apache-2.0
// The end of a step: after its last task has ended, slurmstepd tells the mapper and passes on what
// it has to say to the user. Bounded in time and size; no signal, no waitpid.
#pragma once

#include "spank/step.h"

namespace ondeloc {

// One END record into the channel; lost when the channel stays full.
void send_end(const Step& step);
// Waits at most a second for the mapper's end and tells its lines. Mostly it has ended by then. One
// that writes a large report on a slow disk has not, and to wait less would bring nothing:
// proctrack finds it after this, and sleeps for a second itself before it looks again.
void tell_last_lines(const Step& step);

}  // namespace ondeloc
