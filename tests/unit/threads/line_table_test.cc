// SPDX-License-Identifier: Apache-2.0
#include "mapcore/threads/plugin/line_table.h"

#include <thread>
#include <vector>

#include "tests/unit/catch.h"

using namespace ondeloc_threads;

namespace {

constexpr std::uint64_t kTable = 1U << 20;

}  // namespace

TEST_CASE("a thread communicates once with the last writer of a line") {
  LineTable table(kTable);
  CHECK(!table.read(5, 1));  // nobody has written
  table.write(5, 0);
  CHECK(!table.read(5, 0));  // its own
  CHECK(table.read(5, 1) == 0U);
  CHECK(!table.read(5, 1));
  CHECK(table.read(5, 2) == 0U);
  CHECK(!table.read(6, 1));  // another line
}

TEST_CASE("each write is news to all readers") {
  LineTable table(kTable);
  table.write(5, 0);
  CHECK(table.read(5, 1) == 0U);
  table.write(5, 0);
  CHECK(table.read(5, 1) == 0U);
  table.write(5, 1);
  CHECK(!table.read(5, 1));
  CHECK(table.read(5, 0) == 1U);
}

TEST_CASE("line 0 and the last line of an address space are lines") {
  LineTable table(kTable);
  for (const std::uint64_t line : {std::uint64_t{0}, (std::uint64_t{1} << 47) / 64 - 1}) {
    CHECK(!table.read(line, 1));
    table.write(line, 1023);
    CHECK(table.read(line, 1) == 1023U);
  }
}

TEST_CASE("the largest number of threads whose readers are told apart") {
  LineTable table(kTable);
  table.write(7, 64);
  for (unsigned reader = 0; reader < 64; ++reader) CHECK(table.read(7, reader) == 64U);
  for (unsigned reader = 0; reader < 64; ++reader) CHECK(!table.read(7, reader));
}

TEST_CASE("a full table forgets lines, says so, and stays right about the others") {
  constexpr std::uint64_t kLines = 4096;  // of 64 KiB
  LineTable table(1U << 16);
  std::uint64_t forgotten = 0, seen = 0;
  for (std::uint64_t line = 0; line < 2 * kLines; ++line) forgotten += table.write(line, 3) ? 1 : 0;
  for (std::uint64_t line = 0; line < 2 * kLines; ++line) seen += table.read(line, 4) ? 1 : 0;
  CHECK(forgotten >= kLines);
  CHECK(seen == 2 * kLines - forgotten);
}

TEST_CASE("threads that touch the same buckets at once lose nothing") {
  LineTable table(1U << 16);
  constexpr unsigned kThreads = 4;
  constexpr int kRounds = 2000;
  std::vector<int> wrong(kThreads);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < kRounds; ++round) {
        table.write(t, t);  // all lines are in one bucket
        wrong[t] += table.read(t, t) ? 1 : 0;
        wrong[t] += table.read(t, t + 10) == t ? 0 : 1;
        wrong[t] += table.read(t, t + 10) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(kThreads));
}
