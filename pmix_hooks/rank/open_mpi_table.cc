// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/open_mpi_table.h"

#include <initializer_list>

#include "pmix_hooks/rank/symbols.h"

namespace ondeloc {
namespace {

// An entry may be empty (ob1 has no progress), but not one that a hook replaces.
bool plausible(void** entries, const open_mpi::PmlIndexes& at) {
  const unsigned long size = symbol_size(entries);
  if (size < at.min_bytes || size > at.max_bytes) return false;
  for (int i = 0; i < at.functions; ++i)
    if (entries[i] != nullptr && !is_code(entries[i])) return false;
  for (const int i : {at.del_comm, at.irecv_init, at.isend_init, at.isend, at.send, at.start})
    if (entries[i] == nullptr) return false;
  return true;
}

}  // namespace

bool find_pml_table(int series, PmlTable& table) {
  if (series < 4 || series > 6) return false;
  table.at = series == 4 ? open_mpi::kSeries4 : open_mpi::kSeries5;
  table.entries = static_cast<void**>(mpi_object(open_mpi::kPmlTable));
  return table.entries != nullptr && plausible(table.entries, table.at);
}

}  // namespace ondeloc
