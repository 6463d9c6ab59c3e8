// SPDX-License-Identifier: Apache-2.0
// The end of a step: after its last task has ended, slurmstepd tells the mapper and passes on what
// it has to say to the user. Bounded in time and size; no signal, no wait.
#pragma once

#include "spank/step.h"

namespace ondeloc {

// One END record into the channel; lost when the channel stays full.
void send_end(const Step& step);
// Waits at most a second for the mapper's end and tells its lines.
void tell_last_lines(const Step& step);

}  // namespace ondeloc
