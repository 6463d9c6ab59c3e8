// SPDX-License-Identifier: Apache-2.0
// Parses any text as the JSON of a mapping.
#include <cstdint>
#include <cstdlib>

#include "mapcore/map/mapping_io.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto placement = ondeloc::parse_mapping_json(text, "fuzz");
  if (!placement) {
    if (placement.error().message().size() > 300) std::abort();  // one sentence
    return 0;
  }
  ondeloc::RankCpus cpus;
  for (const auto& [rank, pus] : *placement) cpus.push_back(pus);
  ondeloc::to_cpu_bind(cpus);
  return 0;
}
