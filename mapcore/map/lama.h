// SPDX-License-Identifier: Apache-2.0
// The binding half of LAMA: mapping says on which hardware thread a rank is (lama.cc), binding how
// much round it the rank may use. Online the slots are what Slurm gave and bind= changes nothing.
// Thread safety: pure functions.
#pragma once

#include "mapcore/options/lama_layout.h"
#include "mapcore/topology/machine.h"

namespace ondeloc {

// The PUs of bind.count objects of bind.level in logical order, from the one that holds `first` on;
// fewer at the end of the machine.
CpuSet lama_binding(const Machine& machine, const LamaWidth& bind, PuOs first);

}  // namespace ondeloc
