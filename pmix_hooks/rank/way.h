// SPDX-License-Identifier: Apache-2.0
// The ways in which a rank counts: into the segment's row, into a row of its own that events carry,
// or into the segment's row and the event channel. Chosen once, at attach: the paths are separate
// functions, so that recording costs nothing where it is off.
#pragma once

namespace ondeloc {

enum class Way { kShm, kPmix, kRecord };

}  // namespace ondeloc
