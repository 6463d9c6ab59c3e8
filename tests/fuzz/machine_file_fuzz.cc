// SPDX-License-Identifier: Apache-2.0
// Machine files: whatever is read has numbers that can be, and is read again as it was written.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "mapcore/topology/machine_file.h"

namespace {

void check_rate(double rate) {
  if (rate != 0 && !(rate >= 1 && rate <= 1e15)) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto file = ondeloc::parse_machine_file(text, "fuzz");
  if (!file) return 0;
  for (const auto& domain : file->domains) {
    check_rate(domain.bandwidth);
    if (!(domain.latency >= 0 && domain.latency <= 1)) std::abort();
    if (domain.latency > 0 && domain.bandwidth == 0) std::abort();
  }
  for (const auto& node : file->nodes) check_rate(node.alone), check_rate(node.shared);
  for (const auto& link : file->links) check_rate(link.bandwidth);
  check_rate(file->port_bandwidth);
  if (!ondeloc::parse_machine_file(ondeloc::to_json(*file), "again").ok() &&
      file->source().size() < 64)
    std::abort();
  return 0;
}
