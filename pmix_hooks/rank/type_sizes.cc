// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/type_sizes.h"

#include "pmix_hooks/rank/symbols.h"
#include "pmix_hooks/rank/text.h"

namespace ondeloc {

alignas(64) constinit TypeEntry type_table[kTypeSlots + 1]{};

namespace {

decltype(MpiCalls::type_size) ask_size;

// The table does not wrap, so that a look-up needs no mask; a type that would not fit before its
// end is asked for each time.
void remember(const void* type, std::uint64_t bytes) {
  std::uint64_t i = type_hash(type);
  while (i < kTypeSlots && type_table[i].type != nullptr && type_table[i].type != type) ++i;
  if (i < kTypeSlots) type_table[i] = {type, bytes};
}

}  // namespace

void type_sizes_start(const MpiCalls& calls, bool mpich) {
  ask_size = calls.type_size;
  if (mpich) return;
  for (const char* name : open_mpi::kPredefinedTypes) {
    char symbol[64] = {};
    copy_text(symbol, open_mpi::kTypePrefix);
    append_text(symbol, name);
    void* type = mpi_object(symbol);
    long long bytes = -1;
    if (type != nullptr && ask_size(type, &bytes) == open_mpi::kSuccess && bytes >= 0)
      remember(type, static_cast<std::uint64_t>(bytes));
  }
}

std::uint64_t derived_type_size(void* type) {
  long long bytes = 0;
  if (ask_size(type, &bytes) != open_mpi::kSuccess || bytes < 0) return 0;
  return static_cast<std::uint64_t>(bytes);
}

}  // namespace ondeloc
