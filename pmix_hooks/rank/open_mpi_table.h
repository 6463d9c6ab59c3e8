// SPDX-License-Identifier: Apache-2.0
// Finds and checks what open_mpi_facts.h says before anything is touched.
#pragma once

#include "pmix_hooks/rank/mpi_calls.h"
#include "pmix_hooks/rank/pml_hooks.h"

namespace ondeloc {

// False when the table is not there, not of a size that this series can have, or whose first
// entries are not addresses of code.
bool find_pml_table(int series, PmlTable& table);

}  // namespace ondeloc
