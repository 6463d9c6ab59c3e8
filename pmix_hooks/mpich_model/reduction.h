// SPDX-License-Identifier: Apache-2.0
// Reductions in a flat group (group.h).
#pragma once

#include "pmix_hooks/mpich_model/blocks.h"
#include "pmix_hooks/mpich_model/broadcast.h"

namespace ondeloc::mpich_model {

struct Operand {
  std::uint64_t count;
  std::uint64_t type_size;
  bool predefined;   // the operation
  bool commutative;  // the operation

  std::uint64_t bytes() const { return count * type_size; }
};

void reduce(const Group& group, const Operand& operand, int root, Form form);
void allreduce(const Group& group, const Operand& operand, Form form);
// `blocks`: the result of each rank, in elements.
void reduce_scatter(const Group& group, const Blocks& blocks, const Operand& operand, Form form);

}  // namespace ondeloc::mpich_model
