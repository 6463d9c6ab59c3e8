// SPDX-License-Identifier: Apache-2.0
// The end of a step: after the last task has ended, slurmstepd tells the mapper so and relays the
// mapper's messages to the user. Bounded in time and size; sends no signal, calls no waitpid.
#pragma once

#include "spank/step.h"

namespace ondeloc {

// Writes one END record into the channel. The record is lost if the channel stays full.
void send_end(Step& step);

// Waits for the mapper's last word and relays its lines. Waits at most a second, or ten seconds for
// a mapper that writes a report or a profile, since proctrack kills the mapper afterwards. Mostly
// the mapper has ended before. If it has not come to its end, the user is told what may be missing.
// `last_status`: wait status of the last task. If that task was killed, whoever ended the step may
// have killed the mapper too.
void relay_mapper_messages(const Step& step, int last_status);

}  // namespace ondeloc
