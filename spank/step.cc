// SPDX-License-Identifier: Apache-2.0
#include "spank/step.h"

namespace ondeloc {

// Never destroyed: the listener may outlive the callbacks, and the kernel closes the descriptors.
Step& the_step() {
  static Step* const step = new Step;
  return *step;
}

}  // namespace ondeloc
