// SPDX-License-Identifier: Apache-2.0
// Broadcasts in a flat group (group.h).
#pragma once

#include "pmix_hooks/mpich_model/group.h"

namespace ondeloc::mpich_model {

// Blocking and non-blocking broadcasts differ where a size is exactly a threshold.
enum class Form { kBlocking, kStarted };

void broadcast_binomial(const Group& group, std::uint64_t bytes, int root);
// Chooses by size and number of ranks.
void broadcast(const Group& group, std::uint64_t bytes, int root, Form form);

}  // namespace ondeloc::mpich_model
