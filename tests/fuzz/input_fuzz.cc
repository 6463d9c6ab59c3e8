// SPDX-License-Identifier: Apache-2.0
// Any text as a file of a command: its kind, and the mapping of a report.
#include <cstdint>
#include <cstdlib>

#include "mapcore/input/input_kind.h"
#include "mapcore/input/placement_source.h"
#include "mapcore/input/report_run.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ondeloc;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const InputKind kind = kind_of_text(text);
  for (const Need need : {Need::kTraffic, Need::kSeries, Need::kMapping}) {
    const Error error = wrong_kind("fuzz", kind, need);
    if (error.message().empty() || error.message().size() > 300) std::abort();
  }
  const auto placement = parse_report_placement(text, "fuzz");
  if (!placement && placement.error().message().size() > 300) std::abort();
  const auto run = parse_report_run(text, "fuzz");
  if (!run && run.error().message().size() > 300) std::abort();
  if (run && verdict(run->run).empty()) std::abort();
  return 0;
}
