// SPDX-License-Identifier: Apache-2.0
// Reads PMIx records as the listener and the mapper do. The first byte chooses: 'r' raw bytes, '1'
// to '5' a valid record of that type that the rest of the input is xored into, so that seeds can be
// text and mutations stay close to valid records.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "mapcore/segment/record_check.h"

namespace {

std::string valid_record(std::uint8_t type) {
  using ondeloc::Record;
  static const std::size_t sizes[] = {sizeof(ondeloc_record_attach), sizeof(ondeloc_record_sample),
                                      sizeof(ondeloc_record_row) + 2 * sizeof(ondeloc_row_entry),
                                      sizeof(ondeloc_record_detach), sizeof(ondeloc_record_end)};
  std::string text(sizes[type - 1], '\0');
  const ondeloc_record_head head{ONDELOC_RECORD_MAGIC,
                                 ONDELOC_RECORD_VERSION,
                                 type,
                                 static_cast<std::uint32_t>(text.size()),
                                 1,
                                 2};
  std::memcpy(text.data(), &head, sizeof(head));
  const std::uint32_t entries = 2;
  if (type == ONDELOC_RECORD_ROW)
    std::memcpy(text.data() + offsetof(ondeloc_record_row, count), &entries, sizeof(entries));
  return text;
}

void check(std::span<const std::byte> input) {
  std::span<const std::byte> rest = input;
  while (true) {
    std::uint32_t length = 0;
    const std::size_t before = rest.size();
    const bool good = ondeloc::check_record(rest, length) == ondeloc::RecordFault::kNone;
    const auto record = ondeloc::take_record(rest);
    if (good != record.has_value()) std::abort();
    if (!record) return;
    if (before - rest.size() != length || length > ONDELOC_RECORD_MAX) std::abort();
    if (ondeloc::head_of(*record).length != length) std::abort();
    if (const auto* attach = std::get_if<ondeloc_record_attach>(&*record))
      if (std::memchr(attach->cpus, 0, sizeof(attach->cpus)) == nullptr) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] >= '1' && data[0] <= '5') {
    std::string record = valid_record(static_cast<std::uint8_t>(data[0] - '0'));
    const std::size_t overlap = std::min(record.size(), text.size());
    for (std::size_t i = 0; i < overlap; ++i) record[i] = static_cast<char>(record[i] ^ text[i]);
    text = record + record;
  }
  check(std::as_bytes(std::span<const char>(text.data(), text.size())));
  return 0;
}
