// SPDX-License-Identifier: Apache-2.0
// `--ondeloc=static:lama:LAYOUT` on the node: the CPUs of one task by a layout, without a file.
#pragma once

#include "mapcore/base/result.h"
#include "mapcore/options/mapper_arguments.h"
#include "mapcore/topology/machine.h"

namespace ondeloc {

// The tasks of this node, in the order of their ranks, are laid out on the `usable` PUs of `whole`;
// the letter n stands for this one node. Without bind= a task has as many PUs as srun -c asked for.
Result<CpuSet> cpus_by_lama(const BindArguments& call, const Machine& whole, const CpuSet& usable);

}  // namespace ondeloc
