// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/open_mpi_table.h"

#include <cstring>
#include <initializer_list>

#include "pmix_hooks/rank/symbols.h"
#include "pmix_hooks/rank/text.h"

namespace ondeloc {
namespace {

constexpr std::size_t kNameBytes = 40;
constexpr std::size_t kVersionBytes = 8192 + 1;  // MPICH's MPI_MAX_LIBRARY_VERSION_STRING

// "Open MPI v5.0.7, package: ..." -> "Open MPI 5.0.7".
void short_name(const char* version, char* name) {
  std::memset(name, 0, kNameBytes);
  copy_text(name, kNameBytes, "Open MPI ");
  const char* number = version + sizeof(open_mpi::kVersionPrefix) - 1;
  std::size_t length = std::strcspn(number, ", \n");
  if (length > kNameBytes - 10) length = kNameBytes - 10;
  std::memcpy(name + 9, number, length);
}

// Entries may be empty (ob1 has no progress); those that are replaced may not.
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

int open_mpi_series(const MpiCalls& calls, char* name) {
  static char version[kVersionBytes];
  int length = 0;
  if (calls.get_library_version(version, &length) != open_mpi::kSuccess) return 0;
  version[kVersionBytes - 1] = '\0';
  if (std::strncmp(version, open_mpi::kVersionPrefix, sizeof(open_mpi::kVersionPrefix) - 1) != 0)
    return 0;
  short_name(version, name);
  return static_cast<int>(leading_number(version + sizeof(open_mpi::kVersionPrefix) - 1));
}

bool find_pml_table(int series, PmlTable& table) {
  if (series < 4 || series > 6) return false;
  table.at = series == 4 ? open_mpi::kSeries4 : open_mpi::kSeries5;
  table.entries = static_cast<void**>(mpi_object(open_mpi::kPmlTable));
  return table.entries != nullptr && plausible(table.entries, table.at);
}

}  // namespace ondeloc
