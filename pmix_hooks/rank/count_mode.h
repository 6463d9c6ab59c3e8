// SPDX-License-Identifier: Apache-2.0
// A rank counts into the segment's row, into a row of its own that events carry, or into the
// segment's row and the event channel. The mode is chosen once, at attach. Each mode has functions
// of its own, so that recording costs nothing when it is off.
#pragma once

namespace ondeloc {

enum class CountMode { kShm, kPmix, kRecord };

}  // namespace ondeloc
