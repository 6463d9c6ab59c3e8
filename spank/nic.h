// SPDX-License-Identifier: Apache-2.0
// The network adapter of a task: nic= of the option or of plugstack.conf.
#pragma once

#include <string>

#include "mapcore/base/result.h"

#include "spank/slurm_spank.h"
#include "spank/step.h"

namespace ondeloc {

// The value of nic=: the user's, or, if the user gave none, the site's.
const std::string& nic_in_force(const Step& step);

// In task_init, after the task was bound: reads /sys as the user, and sets the variables of
// devices/nic_plan.h and ONDELOC_NIC. The choice follows the mask that the task has now. Error: the
// user named an adapter that the node does not have; nothing is set. `root` lets tests read a
// made-up tree.
Status choose_nic(spank_t spank, const Step& step, std::uint32_t local_rank,
                  const std::string& root = "");

// Removes what choose_nic() of an enclosing step has set, if it has not been changed since.
void remove_inherited_nic(spank_t spank);

}  // namespace ondeloc
