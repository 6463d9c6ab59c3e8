// SPDX-License-Identifier: Apache-2.0
// Preparation in slurmstepd as root, before it drops its privileges: the plugin reads the request
// and the step's identity, and makes the segment and the pipes.
#pragma once

#include "mapcore/base/result.h"

#include "spank/callbacks.h"
#include "spank/step.h"

namespace ondeloc {

// False for batch, interactive and extern steps.
bool is_normal_step(spank_t spank);
// Fills step.request from --ondeloc, ONDELOC and plugstack.conf. watch and bind stay false if
// ondeloc is off.
Status read_request(spank_t spank, Arguments arguments, Step& step);
Status read_identity(spank_t spank, Step& step);
// Turns ondeloc off for a user below min-uid=. An error if that user requested ondeloc.
Status check_user(Step& step);
// The same for a step that allow= of the site does not allow.
Status check_leave(Step& step);
// Makes the segment and the pipes that the mode needs. REQUIRES: read_identity.
Status make_descriptors(spank_t spank, Step& step);

}  // namespace ondeloc
