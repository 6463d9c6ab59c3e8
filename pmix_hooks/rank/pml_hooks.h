// SPDX-License-Identifier: Apache-2.0
// Our entries in Open MPI's table of point-to-point functions. Thread safety: install() and
// remove() from the thread that attaches and detaches, before and after all other use of MPI.
#pragma once

#include "pmix_hooks/open_mpi_facts.h"
#include "pmix_hooks/rank/count_mode.h"

namespace ondeloc {

// The table and where things stand in it, checked (open_mpi_table.h).
struct PmlTable {
  void** entries;
  open_mpi::PmlIndexes at;
};

// `multiple`: threads may send at the same time.
void install_hooks(const PmlTable& table, bool multiple, CountMode mode);
// Puts back each entry that is still ours. A tool that came after us keeps calling us; we then only
// pass on.
void remove_hooks();

}  // namespace ondeloc
