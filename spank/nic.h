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

// In user_init, with the user's effective ids: looks in /sys for the adapters that the tasks may
// choose from, once for all tasks of the node. With hundreds of virtual functions a search takes
// milliseconds, and tasks that search at the same time wait for each other in the kernel.
void find_adapters(spank_t spank, Step& step, const std::string& root = "");

// In task_init, after the task was bound: sets the variables of devices/nic_plan.h and ONDELOC_NIC.
// The choice follows the mask that the task has now. Error: the user named an adapter that the node
// does not have; nothing is set. If find_adapters() was not called, the task searches. `root` lets
// tests read a made-up tree.
Status choose_nic(spank_t spank, const Step& step, std::uint32_t local_rank,
                  const std::string& root = "");

// Removes what choose_nic() of an enclosing step has set, if it has not been changed since.
void remove_inherited_nic(spank_t spank);

}  // namespace ondeloc
