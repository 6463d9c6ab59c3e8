// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/mpich_handles.h"

namespace ondeloc {

constinit MpichHandles mpich_handles{kOwnHandles};

void mpich_handles_start(bool standard) {
  mpich_handles = standard ? kStandardHandles : kOwnHandles;
}

}  // namespace ondeloc
