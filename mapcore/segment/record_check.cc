// SPDX-License-Identifier: Apache-2.0
#include "mapcore/segment/record_check.h"

#include <cstring>

namespace ondeloc {
namespace {

template <class T>
T copy_of(std::span<const std::byte> bytes) {
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

bool known_type(std::uint8_t type) {
  return type >= ONDELOC_RECORD_ATTACH && type <= ONDELOC_RECORD_END;
}

// Length of a record of this type, for a ROW the length of its fixed part.
std::uint32_t fixed_length(std::uint8_t type) {
  switch (type) {
    case ONDELOC_RECORD_ATTACH:
      return sizeof(ondeloc_record_attach);
    case ONDELOC_RECORD_SAMPLE:
      return sizeof(ondeloc_record_sample);
    case ONDELOC_RECORD_ROW:
      return sizeof(ondeloc_record_row);
    case ONDELOC_RECORD_DETACH:
      return sizeof(ondeloc_record_detach);
    default:
      return sizeof(ondeloc_record_end);
  }
}

// Reads the fixed part only. REQUIRES: a whole head.
RecordFault check_length(std::span<const std::byte> bytes, const ondeloc_record_head& head) {
  const std::uint32_t fixed = fixed_length(head.type);
  if (head.type != ONDELOC_RECORD_ROW)
    return head.length == fixed ? RecordFault::kNone : RecordFault::kLength;
  if (head.length < fixed || head.length > ONDELOC_RECORD_MAX) return RecordFault::kLength;
  if (bytes.size() < fixed) return RecordFault::kShort;
  const auto row = copy_of<ondeloc_record_row>(bytes);
  const std::uint64_t whole = fixed + std::uint64_t{row.count} * sizeof(ondeloc_row_entry);
  return whole == head.length ? RecordFault::kNone : RecordFault::kLength;
}

RowRecord copy_row(std::span<const std::byte> bytes) {
  RowRecord row{copy_of<ondeloc_record_row>(bytes), {}};
  row.entries.resize(row.head.count);
  if (!row.entries.empty())
    std::memcpy(row.entries.data(), bytes.data() + sizeof(ondeloc_record_row),
                row.entries.size() * sizeof(ondeloc_row_entry));
  return row;
}

ondeloc_record_attach copy_attach(std::span<const std::byte> bytes) {
  auto attach = copy_of<ondeloc_record_attach>(bytes);
  attach.cpus[sizeof(attach.cpus) - 1] = '\0';
  attach.library[sizeof(attach.library) - 1] = '\0';
  return attach;
}

Record copy_record(std::span<const std::byte> bytes) {
  switch (copy_of<ondeloc_record_head>(bytes).type) {
    case ONDELOC_RECORD_ATTACH:
      return copy_attach(bytes);
    case ONDELOC_RECORD_SAMPLE:
      return copy_of<ondeloc_record_sample>(bytes);
    case ONDELOC_RECORD_ROW:
      return copy_row(bytes);
    case ONDELOC_RECORD_DETACH:
      return copy_of<ondeloc_record_detach>(bytes);
    default:
      return copy_of<ondeloc_record_end>(bytes);
  }
}

}  // namespace

RecordFault check_record(std::span<const std::byte> bytes, std::uint32_t& length) noexcept {
  if (bytes.size() < sizeof(ondeloc_record_head)) return RecordFault::kShort;
  const auto head = copy_of<ondeloc_record_head>(bytes);
  if (head.magic != ONDELOC_RECORD_MAGIC) return RecordFault::kMagic;
  if (head.version != ONDELOC_RECORD_VERSION) return RecordFault::kVersion;
  if (!known_type(head.type)) return RecordFault::kType;
  if (const RecordFault fault = check_length(bytes, head); fault != RecordFault::kNone)
    return fault;
  if (bytes.size() < head.length) return RecordFault::kShort;
  length = head.length;
  return RecordFault::kNone;
}

std::optional<Record> take_record(std::span<const std::byte>& rest) {
  std::uint32_t length = 0;
  const RecordFault fault = check_record(rest, length);
  if (fault != RecordFault::kNone) {
    if (fault != RecordFault::kShort) rest = {};
    return std::nullopt;
  }
  Record record = copy_record(rest.first(length));
  rest = rest.subspan(length);
  return record;
}

const ondeloc_record_head& head_of(const Record& record) {
  struct Head {
    const ondeloc_record_head& operator()(const RowRecord& r) const { return r.head.head; }
    const ondeloc_record_head& operator()(const ondeloc_record_attach& r) const { return r.head; }
    const ondeloc_record_head& operator()(const ondeloc_record_sample& r) const { return r.head; }
    const ondeloc_record_head& operator()(const ondeloc_record_detach& r) const { return r.head; }
    const ondeloc_record_head& operator()(const ondeloc_record_end& r) const { return r.head; }
  };
  return std::visit(Head{}, record);
}

}  // namespace ondeloc
