// SPDX-License-Identifier: Apache-2.0
// Parses any text as a rankfile and resolves its ranks and threads on a machine, absolute and
// relative.
#include <cstdlib>
#include <string_view>

#include "mapcore/rankfile/rankfile.h"
#include "mapcore/rankfile/resolve.h"
#include "mapcore/topology/load.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ondeloc;
  static const Machine machine = *load_machine("package:2 numa:1 core:4 pu:2");
  static const CpuSet usable = *CpuSet::parse_list("2-5,9-11");
  const auto file = parse_rankfile({reinterpret_cast<const char*>(data), size}, "fuzz");
  if (!file) {
    if (file.error().message().size() > 300) std::abort();  // one sentence
    return 0;
  }
  for (const auto& [rank, entry] : file->entries) {
    for (const bool relative : {false, true}) {
      const auto pus = resolve_slots(entry, machine, usable, relative);
      if (pus && (pus->empty() || !pus->is_subset_of(usable))) std::abort();
      if (!pus) continue;
      const auto threads = resolve_threads(entry, machine, usable, relative, *pus);
      if (!threads) continue;
      for (const CpuSet& thread : *threads)
        if (!thread.is_subset_of(*pus)) std::abort();
    }
    is_on_node(entry, "node1", 0);
  }
  return 0;
}
