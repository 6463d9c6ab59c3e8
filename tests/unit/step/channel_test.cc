// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/channel.h"

#include <fcntl.h>
#include <unistd.h>

#include "mapcore/base/unique_fd.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

struct Flood {
  UniqueFd read_end, write_end;
  ondeloc_record_end record{};

  Flood() {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0);
    read_end.reset(ends[0]);
    write_end.reset(ends[1]);
    record.head = {
        ONDELOC_RECORD_MAGIC, ONDELOC_RECORD_VERSION, ONDELOC_RECORD_END, sizeof(record), 0, 0};
  }
  bool send() const { return write(write_end.get(), &record, sizeof(record)) == sizeof(record); }
};

}  // namespace

TEST_CASE("every record that has come is handed over, and the end of the writer is seen") {
  Flood flood;
  Channel channel(flood.read_end.get());
  int seen = 0;
  const auto count = [&](const Record&) { ++seen; };
  for (int i = 0; i < 3; ++i) REQUIRE(flood.send());
  CHECK(channel.drain(count));
  CHECK(seen == 3);
  CHECK(channel.drain(count));
  CHECK(seen == 3);
  flood.write_end.reset();
  CHECK_FALSE(channel.drain(count));
}

TEST_CASE("a writer that is faster than the reader cannot keep it for ever") {
  const Flood flood;
  Channel channel(flood.read_end.get());
  REQUIRE(flood.send());
  std::size_t seen = 0;
  constexpr std::size_t kMost = 4 * Channel::kMostAtOnce / sizeof(ondeloc_record_end);
  CHECK(channel.drain([&](const Record&) {
    if (++seen < kMost) REQUIRE(flood.send());  // one more for each that is taken
  }));
  CHECK(seen >= Channel::kMostAtOnce / sizeof(ondeloc_record_end));
  CHECK(seen < kMost);
  // The record that was left waits for the next call.
  const std::size_t before = seen;
  seen = kMost;
  CHECK(channel.drain([&](const Record&) { ++seen; }));
  CHECK(seen == kMost + 1);
  CHECK(before < kMost);
}
