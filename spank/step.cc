// SPDX-License-Identifier: Apache-2.0
#include "spank/step.h"

namespace ondeloc {

// Never destroyed: the listener may outlive the callbacks, and the kernel closes the descriptors.
Step& step() {
  static Step* const the_step = new Step;
  return *the_step;
}

}  // namespace ondeloc
