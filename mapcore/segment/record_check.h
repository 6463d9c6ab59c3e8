// SPDX-License-Identifier: Apache-2.0
// The one parser of the records of event_record.h, used by the listener in slurmstepd (as root, on
// payloads of the user) and by the mapper. Input is untrusted bytes of any alignment; every field
// is copied out, nothing is read beyond the given span. What comes out is well formed, not true:
// pids, ranks and CPU lists are still only claims of a process of the user.
// Thread safety: pure functions. Errors: a fault, or nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "mapcore/segment/event_record.h"

namespace ondeloc {

enum class RecordFault { kNone, kShort, kMagic, kVersion, kType, kLength };

// Whether `bytes` begins with a whole, well-formed record; `length` is then its length. Allocates
// nothing and never throws: fit for PMIx's progress thread.
RecordFault check_record(std::span<const std::byte> bytes, std::uint32_t& length) noexcept;

struct RowRecord {
  ondeloc_record_row head;
  std::vector<ondeloc_row_entry> entries;
};
using Record = std::variant<ondeloc_record_attach, ondeloc_record_sample, RowRecord,
                            ondeloc_record_detach, ondeloc_record_end>;

// Takes the record at the front of `rest` and moves `rest` behind it; strings in it are
// zero-terminated. Nothing when there is no whole, well-formed record: `rest` is then emptied if
// what is left can never become one (a fault other than kShort), else left for more bytes to
// come. Writers write whole records in one write of at most ONDELOC_RECORD_MAX bytes to a pipe, so
// a fault means a foreign writer, and what it wrote is lost, nothing else.
std::optional<Record> take_record(std::span<const std::byte>& rest);

// The head of any record.
const ondeloc_record_head& head_of(const Record& record);

}  // namespace ondeloc
