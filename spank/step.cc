// SPDX-License-Identifier: Apache-2.0
#include "spank/step.h"

#include <unistd.h>

namespace ondeloc {

bool take_token(const Pipe& token) {
  char byte = 0;
  return read(token.read.get(), &byte, 1) == 1;
}

// Never destroyed: the listener may outlive the callbacks, and the kernel closes the descriptors.
Step& the_step() {
  static Step* const step = new Step;
  return *step;
}

}  // namespace ondeloc
