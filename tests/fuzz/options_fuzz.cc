// SPDX-License-Identifier: Apache-2.0
// Parses any text as a value of --ondeloc, as words of plugstack.conf and as messages of the
// mapper, as root does in slurmstepd, and as a list of CPU masks.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "mapcore/base/cpu_set.h"
#include "mapcore/base/printable.h"
#include "mapcore/base/text.h"
#include "mapcore/options/mapper_messages.h"
#include "mapcore/options/options.h"

namespace {

void check_sentence(const ondeloc::Error& error) {
  if (error.message().empty() || error.message().size() > 300) std::abort();
  if (ondeloc::printable(error.message()) != error.message()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ondeloc;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto options = parse_options(text);
  if (!options) {
    check_sentence(options.error());
  } else {
    const bool sane =
        options->interval_ms >= 1 && options->interval_ms <= options->max_interval_ms &&
        options->max_interval_ms <= 3'600'000 && options->slope > 1 && options->threshold >= 0 &&
        options->threshold <= 1 && text.size() <= kMaxOptionLength;
    if (!sane) std::abort();
  }
  const MapperMessages messages = decode_messages(text);
  if (messages.text.size() + messages.before.size() > text.size()) std::abort();
  const auto cpus = CpuSet::parse_mask_list(text);
  if (!cpus) check_sentence(cpus.error());
  const auto site = parse_site_options(split(text, ' '));
  if (!site) check_sentence(site.error());
  return 0;
}
