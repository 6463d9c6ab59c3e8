// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <cstdlib>
#include <string>

#include "mapcore/options/options.h"

#include "spank/callbacks.h"
#include "spank/option.h"

namespace ondeloc {

namespace {

// srun reads its own plugstack.conf, which should be that of the nodes; the report notes it too.
void tell_raised_interval(const std::string& value, Arguments arguments) {
  const auto options = parse_options(value);
  const auto site = parse_site_options({arguments.begin(), arguments.end()});
  if (!options || !site || options->mode == Mode::kOff) return;
  const std::string raised = raised_interval(*options, site->min_interval_ms);
  if (!raised.empty()) std::fprintf(stderr, "ondeloc: %s\n", raised.c_str());
}

}  // namespace

void srun_user_init(spank_t, Arguments arguments) {
  std::string value = given_option().value_or(env_default().value_or(""));
  if (value.empty()) {  // else it was checked where it was given
    const char* variable = std::getenv(kDefaultVariable);
    if (variable == nullptr || *variable == '\0') return;
    value = variable;
    check_or_exit(kDefaultVariable, value);
  }
  tell_raised_interval(value, arguments);
}

}  // namespace ondeloc
