// SPDX-License-Identifier: Apache-2.0
#include <ctime>

#include "mapcore/profile/export_csv.h"
#include "mapcore/profile/window_matrix.h"
#include "tests/unit/profile/profile_fixture.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

TEST_CASE("events.csv comes back as it went in") {
  const TempDir dir;
  for (const char* app : {"ep", "ft"}) {
    ProfileReader reader = open_npb(dir, app);
    std::string text;
    CHECK(export_events(reader, {}, [&](std::string_view piece) {
            text += piece;
            return true;
          }).ok());
    CHECK(text == read_text(test_data() + "/npb/" + app + ".A.32/events.csv"));
  }
}

TEST_CASE("the matrix of the events is the recorded matrix") {
  const TempDir dir;
  for (const char* app : {"ep", "ft", "is", "mg"}) {
    ProfileReader reader = open_npb(dir, app);
    const CommMatrix matrix = profile_matrix(reader);
    std::ifstream in(test_data() + "/npb/" + app + ".A.32/bytes.mat");
    std::vector<double> cells{std::istream_iterator<double>(in), {}};
    REQUIRE(cells.size() == 32 * 32);
    std::vector<double> ours(32 * 32);
    for (const MatrixEntry& e : matrix.entries)
      ours[static_cast<std::size_t>(e.src * 32 + e.dst)] = e.bytes;
    for (std::size_t i = 0; i < 32; ++i) cells[i * 33] = 0;
    CHECK(ours == cells);
    const CommMatrix scaled = normalised(matrix);
    double most = 0;
    for (const MatrixEntry& e : scaled.entries) most = std::max(most, e.bytes);
    CHECK(most == 1);
  }
}

TEST_CASE("windows of a profile add up to the whole") {
  const TempDir dir;
  ProfileReader reader = open_npb(dir, "mg");
  const double whole = profile_matrix(reader).total_bytes();
  const std::uint64_t middle = 1'234'567'000;
  CHECK(profile_matrix(reader, {0, middle}).total_bytes() +
            profile_matrix(reader, {middle, UINT64_MAX}).total_bytes() ==
        whole);
  std::string text;
  CHECK(export_intervals(reader, {}, 20, [&](std::string_view piece) {
          text += piece;
          return true;
        }).ok());
  double sum = 0;
  for (std::size_t at = text.find('\n'); at + 1 < text.size(); at = text.find('\n', at + 1)) {
    const std::string_view line = std::string_view(text).substr(at + 1);
    sum += std::stod(std::string(line.substr(line.rfind(',', line.find('\n')) + 1)));
  }
  CHECK(sum == whole);
}

TEST_CASE("every interval holds the messages of its own time") {
  const TempDir dir;
  const std::vector<ProfileEvent> events{{100, 0, 1, 5}, {124, 0, 1, 6}, {125, 1, 0, 7},
                                         {160, 2, 2, 9}, {175, 2, 0, 1}, {199, 2, 0, 2}};
  auto reader = ProfileReader::open(write_profile(dir, 3, events));
  const auto exported = [&](const TimeWindow& window, std::size_t count) {
    std::string text;
    CHECK(export_intervals(*reader, window, count, [&](std::string_view piece) {
            text += piece;
            return true;
          }).ok());
    return text;
  };
  CHECK(exported({}, 4) == "interval,src,dst,bytes\n0,0,1,11\n1,1,0,7\n3,2,0,3\n");
  CHECK(exported({120, 180}, 2) == "interval,src,dst,bytes\n0,0,1,6\n0,1,0,7\n1,2,0,1\n");
}

TEST_CASE("thousands of intervals are one pass over the messages") {
  const TempDir dir;
  std::vector<ProfileEvent> events;
  for (std::uint32_t i = 0; i < 60000; ++i) events.push_back({i, i % 7, (i + 1) % 7, 8});
  auto reader = ProfileReader::open(write_profile(dir, 7, events));
  const auto ticks = [&](std::size_t count) {
    const std::clock_t from = std::clock();
    CHECK(export_intervals(*reader, {}, count, [](std::string_view) { return true; }).ok());
    return std::clock() - from;
  };
  const std::clock_t twenty = ticks(20);
  CHECK(ticks(20000) < 200 * (twenty + CLOCKS_PER_SEC / 1000));
}

TEST_CASE("the error for a bad line names its number, and no file is left") {
  const TempDir dir;
  const std::vector<std::string> bad{"x,1,2,3",
                                     "1,2,3",
                                     "1,2,3,4,5",
                                     "-1,0,1,2",
                                     "1,2,3,",
                                     "1.2345,0,1,2",
                                     "1,99999999,0,1",
                                     std::string(9000, '7'),
                                     "1,0,1,281474976710657"};
  for (const std::string& line : bad) {
    write_text(dir.file("e.csv"), "time_us,src,dst,bytes\n0,0,1,10\n" + line + "\n5,1,0,3\n");
    const auto counts = import_events_csv(dir.file("e.csv"), dir.file("out"));
    REQUIRE(!counts.ok());
    CHECK(counts.error().message().find("line 3") != std::string::npos);
    CHECK(counts.error().message().size() < 300);
    CHECK(!std::filesystem::exists(dir.file("out")));
  }
  write_text(dir.file("none.csv"), "time_us,src,dst,bytes\n");
  CHECK(!import_events_csv(dir.file("none.csv"), dir.file("out")).ok());
  write_text(dir.file("big.csv"), "0,0,7,10\n");
  CHECK(!import_events_csv(dir.file("big.csv"), dir.file("out"), 7).ok());
  CHECK(import_events_csv(dir.file("big.csv"), dir.file("out"), 8)->ranks == 8);
}

TEST_CASE("a file that cannot be read to its end is not imported") {
  const TempDir dir;
  // Regular as far as stat(2) knows; reading address 0 fails.
  const auto counts = import_events_csv("/proc/self/mem", dir.file("out"));
  REQUIRE(!counts.ok());
  CHECK(counts.error().message() ==
        "events '/proc/self/mem' cannot be read to its end: Input/output error");
  CHECK(!std::filesystem::exists(dir.file("out")));
}

TEST_CASE(
    "times with decimals, blanks, CRLF, quotes, a mark and a last line without end are taken") {
  const TempDir dir;
  write_text(dir.file("h.csv"), "\xEF\xBB\xBFtime_us,src,dst,bytes\n5,0,1,10\n");
  CHECK(import_events_csv(dir.file("h.csv"), dir.file("out"))->events == 1);
  write_text(dir.file("q.csv"), "\"time_us\",\"src\",\"dst\",\"bytes\"\r\n\"5\",0,1,\"10\"\r\n");
  CHECK(import_events_csv(dir.file("q.csv"), dir.file("out"))->events == 1);
  write_text(dir.file("e.csv"),
             "\xEF\xBB\xBF"
             "1.5,0,1,10\r\n 2 , 1 , 0 , 3\n\n3.001,1,0,3");
  REQUIRE(import_events_csv(dir.file("e.csv"), dir.file("out")).ok());
  auto reader = ProfileReader::open(dir.file("out"));
  CHECK(all_events(*reader) ==
        std::vector<ProfileEvent>{{1500, 0, 1, 10}, {2000, 1, 0, 3}, {3001, 1, 0, 3}});
}
