// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/own_binding.h"

#include <linux/mempolicy.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

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

bool is_bound_to_memory() {
  constexpr int kPreferredMany = 5;  // since Linux 5.15
  constexpr int kWords = 64;         // 4096 nodes: more than any kernel has
  int policy = MPOL_DEFAULT;
  unsigned long nodes[kWords]{};
  if (syscall(SYS_get_mempolicy, &policy, nodes, sizeof(nodes) * 8, nullptr, 0) != 0) return false;
  policy &= 0xff;  // without the flags
  if (policy != MPOL_BIND && policy != MPOL_PREFERRED && policy != kPreferredMany) return false;
  for (const unsigned long word : nodes)
    if (word != 0) return true;
  return false;  // preferred, but none: before Linux 5.14 that is the node of the CPU
}

}  // namespace ondeloc
