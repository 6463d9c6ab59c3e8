// SPDX-License-Identifier: Apache-2.0
// Machine files: whatever is read has numbers that can be, and is read again as it was written.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "mapcore/topology/machine_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = ondeloc::parse_machine_file(text, "fuzz");
  if (!file) return 0;
  for (const auto& domain : file->domains)
    if (!(domain.latency >= 0 && domain.latency <= 1)) std::abort();
  if (!ondeloc::parse_machine_file(ondeloc::to_json(*file), "again").ok() &&
      file->source().size() < 64)
    std::abort();
  return 0;
}
