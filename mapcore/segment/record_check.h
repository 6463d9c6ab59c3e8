// SPDX-License-Identifier: Apache-2.0
// The one parser of the records of event_record.h, for the listener in slurmstepd (as root, on
// payloads of the user) and for the mapper. Input is untrusted bytes of any alignment. The parser
// copies every field and reads nothing beyond the given span. A parsed record is well formed, but
// its pids, ranks and CPU lists are only claims of a process of the user.
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

// Checks whether `bytes` begins with a whole, well-formed record and sets `length` to its length.
// Does not allocate or throw, so PMIx's progress thread may call it.
RecordFault check_record(std::span<const std::byte> bytes, std::uint32_t& length) noexcept;

struct RowRecord {
  ondeloc_record_row head;
  std::vector<ondeloc_row_entry> entries;
};
using Record = std::variant<ondeloc_record_attach, ondeloc_record_sample, RowRecord,
                            ondeloc_record_detach, ondeloc_record_end>;

// Returns the record at the front of `rest` and removes it from `rest`; its strings are
// zero-terminated. Returns nothing if there is no whole, well-formed record. Then `rest` stays if
// more bytes can complete the record (kShort), and is emptied if they cannot. Writers put each
// record into the pipe with one write of at most ONDELOC_RECORD_MAX bytes, so a fault means a
// foreign writer, and only that writer's bytes are lost.
std::optional<Record> take_record(std::span<const std::byte>& rest);

// The head of a record of any type.
const ondeloc_record_head& head_of(const Record& record);

}  // namespace ondeloc
