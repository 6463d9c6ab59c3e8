// SPDX-License-Identifier: Apache-2.0
#include <cstdlib>

#include "spank/callbacks.h"
#include "spank/option.h"

namespace ondeloc {

void srun_user_init(spank_t, Arguments) {
  if (given_option() || lent_variable()) return;  // checked where they were given
  const char* value = std::getenv(kDefaultVariable);
  if (value != nullptr && *value != '\0') check_or_exit(kDefaultVariable, value);
}

}  // namespace ondeloc
