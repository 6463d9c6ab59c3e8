// SPDX-License-Identifier: Apache-2.0
// The binding half of LAMA. The mapping chooses the hardware thread of a rank (lama.cc), and the
// binding chooses how much around that thread the rank may use. Online, Slurm gives the slots, and
// bind= changes nothing. Thread safety: pure functions.
#pragma once

#include "mapcore/options/lama_layout.h"
#include "mapcore/topology/machine.h"

namespace ondeloc {

// Returns the PUs of bind.count objects of bind.level in logical order, starting with the object
// that holds `first`; fewer objects at the end of the machine.
CpuSet lama_binding(const Machine& machine, const LamaWidth& bind, PuOs first);

}  // namespace ondeloc
