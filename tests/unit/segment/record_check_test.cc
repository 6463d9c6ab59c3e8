// SPDX-License-Identifier: Apache-2.0
#include "mapcore/segment/record_check.h"

#include <cstring>
#include <string>

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

template <class T>
T record(std::uint8_t type, std::uint32_t length = sizeof(T)) {
  T r{};
  ondeloc_record_head head{ONDELOC_RECORD_MAGIC, ONDELOC_RECORD_VERSION, type, length, 3, 4711};
  std::memcpy(&r, &head, sizeof(head));
  return r;
}

template <class T>
std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::span<const std::byte> span_of(const std::string& text) {
  return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

std::string row_of(std::uint32_t entries) {
  auto row = record<ondeloc_record_row>(
      ONDELOC_RECORD_ROW,
      static_cast<std::uint32_t>(sizeof(ondeloc_record_row) + entries * sizeof(ondeloc_row_entry)));
  row.count = entries;
  std::string text = bytes_of(row);
  for (std::uint32_t i = 0; i < entries; ++i)
    text += bytes_of(ondeloc_row_entry{i, 0, {100 + i, i}});
  return text;
}

RecordFault fault_of(const std::string& text) {
  std::uint32_t length = 0;
  return check_record(span_of(text), length);
}

}  // namespace

TEST_CASE("a stream of records is taken one by one and an incomplete tail is kept") {
  std::string text = bytes_of(record<ondeloc_record_sample>(ONDELOC_RECORD_SAMPLE)) + row_of(3) +
                     bytes_of(record<ondeloc_record_end>(ONDELOC_RECORD_END));
  const std::string tail = bytes_of(record<ondeloc_record_detach>(ONDELOC_RECORD_DETACH));
  text += tail.substr(0, 20);
  auto rest = span_of(text);
  auto sample = take_record(rest);
  REQUIRE(sample);
  CHECK(head_of(*sample).world_rank == 3);
  auto row = take_record(rest);
  REQUIRE(row);
  REQUIRE(std::get_if<RowRecord>(&*row) != nullptr);
  CHECK(std::get<RowRecord>(*row).entries.size() == 3);
  CHECK(std::get<RowRecord>(*row).entries[2].total.bytes == 102);
  REQUIRE(take_record(rest));
  CHECK(!take_record(rest));
  CHECK(rest.size() == 20);
}

TEST_CASE("text fields come out zero-terminated") {
  auto attach = record<ondeloc_record_attach>(ONDELOC_RECORD_ATTACH);
  std::memset(attach.cpus, '1', sizeof(attach.cpus));
  std::memset(attach.library, 'x', sizeof(attach.library));
  const std::string text = bytes_of(attach);
  auto rest = span_of(text);
  auto taken = take_record(rest);
  REQUIRE(taken);
  const auto& out = std::get<ondeloc_record_attach>(*taken);
  CHECK(std::strlen(out.cpus) == sizeof(out.cpus) - 1);
  CHECK(std::strlen(out.library) == sizeof(out.library) - 1);
}

TEST_CASE("each kind of malformed record has its fault") {
  const std::string good = bytes_of(record<ondeloc_record_sample>(ONDELOC_RECORD_SAMPLE));
  CHECK(fault_of(good) == RecordFault::kNone);
  CHECK(fault_of("") == RecordFault::kShort);
  CHECK(fault_of(good.substr(0, 15)) == RecordFault::kShort);
  CHECK(fault_of(good.substr(0, 63)) == RecordFault::kShort);
  for (const auto& [offset, fault] : {std::pair{0, RecordFault::kMagic},
                                      {2, RecordFault::kVersion},
                                      {3, RecordFault::kType},
                                      {4, RecordFault::kLength}}) {
    std::string bad = good;
    bad[static_cast<std::size_t>(offset)] = '\x7f';
    CHECK(fault_of(bad) == fault);
  }
}

TEST_CASE("a row's count must be its length") {
  CHECK(fault_of(row_of(0)) == RecordFault::kNone);
  CHECK(fault_of(row_of(ONDELOC_ROW_ENTRIES_MAX)) == RecordFault::kNone);
  CHECK(row_of(ONDELOC_ROW_ENTRIES_MAX).size() <= ONDELOC_RECORD_MAX);
  CHECK(fault_of(row_of(ONDELOC_ROW_ENTRIES_MAX + 1)) == RecordFault::kLength);
  for (const std::uint32_t count : {4U, 0U, UINT32_MAX, 0x0AAAAAADU}) {
    std::string bad = row_of(3);
    std::memcpy(bad.data() + offsetof(ondeloc_record_row, count), &count, sizeof(count));
    CHECK(fault_of(bad) == RecordFault::kLength);
  }
}

TEST_CASE("a fault ends the stream at once") {
  const std::string text = std::string(40, 'x') + row_of(1);
  auto rest = span_of(text);
  CHECK(!take_record(rest));
  CHECK(rest.empty());
}
