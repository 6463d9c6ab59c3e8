// SPDX-License-Identifier: Apache-2.0
// What slurmstepd makes as root before it drops its rights: the step's facts, the segment, the
// pipes.
#pragma once

#include "mapcore/base/result.h"

#include "spank/callbacks.h"
#include "spank/step.h"

namespace ondeloc {

// False for batch, interactive and extern steps.
bool is_normal_step(spank_t spank);
// Fills step from the option, ONDELOC and plugstack.conf; step.watch and step.bind stay false when
// ondeloc is off.
Status read_options(spank_t spank, Arguments arguments, Step& step);
Status read_items(spank_t spank, Step& step);
// Segment and pipes, as far as the mode needs them. REQUIRES: read_items.
Status make_descriptors(spank_t spank, Step& step);

}  // namespace ondeloc
