// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/own_binding.h"

#include <stdlib.h>

#include "mapcore/segment/rank_env.h"

namespace ondeloc {
namespace {

struct Variable {
  const char* name;
  const char* value;
};
constexpr Variable kVariable[] = {{ONDELOC_ENV_OPEN_MPI_BINDING, ONDELOC_ENV_OPEN_MPI_BINDS_NOT},
                                  {ONDELOC_ENV_PSM2_BINDING, ONDELOC_ENV_PSM2_BINDS_NOT}};

}  // namespace

OwnBindingForbidden::OwnBindingForbidden(bool wanted) {
  for (int i = 0; i < kVariables; ++i)
    ours_[i] = wanted && getenv(kVariable[i].name) == nullptr &&
               setenv(kVariable[i].name, kVariable[i].value, 0) == 0;
}

// The last first: what stands at the end of the environment goes without moving the rest.
OwnBindingForbidden::~OwnBindingForbidden() {
  for (int i = kVariables - 1; i >= 0; --i)
    if (ours_[i]) unsetenv(kVariable[i].name);
}

}  // namespace ondeloc
