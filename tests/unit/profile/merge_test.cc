// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/merge.h"

#include <fcntl.h>

#include "mapcore/profile/memory_csv.h"
#include "mapcore/profile/report_input.h"
#include "mapcore/profile/window_matrix.h"
#include "tests/unit/profile/profile_fixture.h"

using namespace ondeloc;

namespace {

std::string node_file(const TempDir& dir, const std::string& node, std::int64_t realtime,
                      const std::vector<ProfileEvent>& events, std::uint32_t job = 9) {
  profile_format::FileHeader header = small_header(4);
  header.local_ranks = 2;
  header.node = node;
  header.job = job;
  header.realtime_ns = realtime;
  auto writer = ProfileWriter::create(dir.file(node + ".prof"), header);
  for (const ProfileEvent& event : events) REQUIRE(writer->add(event).ok());
  REQUIRE(writer->add_drops(std::vector<RankDrops>{{events[0].src, 3, 30}}).ok());
  REQUIRE(writer->finish().ok());
  return dir.file(node + ".prof");
}

Result<MergeResult> merge_files(const std::vector<std::string>& paths, const std::string& output) {
  std::vector<MergeInput> inputs;
  for (const std::string& path : paths)
    inputs.push_back({path, UniqueFd(open(path.c_str(), O_RDONLY | O_CLOEXEC))});
  return merge_profiles(std::move(inputs), output);
}

}  // namespace

TEST_CASE("merged nodes share one time line by their system clocks, and it is written down") {
  const TempDir dir;
  const std::string a = node_file(dir, "a", 1'000'000, {{500, 0, 2, 7}, {900, 1, 0, 1}});
  const std::string b = node_file(dir, "b", 1'000'100, {{450, 2, 0, 5}, {10, 3, 1, 2}});
  const std::string out = dir.file("out.prof");
  const auto merged = merge_files({a, b}, out);
  REQUIRE(merged.ok());
  CHECK(merged->events == 4);
  auto reader = ProfileReader::open(out);
  REQUIRE(reader.ok());
  CHECK(reader->header().nodes == 2);
  CHECK(reader->header().local_ranks == 4);
  REQUIRE(reader->nodes().size() == 2);
  CHECK(reader->nodes()[1].shift_ns == 100);
  CHECK(reader->drops().size() == 2);
  std::vector<std::uint64_t> times;
  reader->for_each_in_order({}, [&](std::span<const ProfileEvent> events) {
    for (const ProfileEvent& e : events) times.push_back(e.time_ns);
  });
  CHECK(times == std::vector<std::uint64_t>{110, 500, 550, 900});
  CHECK(profile_matrix(*reader).total_bytes() == 15);
}

TEST_CASE("a merge with a recording that did not end is not complete, and a note says why") {
  const TempDir dir;
  const std::string a = node_file(dir, "a", 1, {{500, 0, 2, 7}});
  const std::string b = node_file(dir, "b", 1, {{450, 2, 0, 5}});
  std::string text = read_text(b);
  text.resize(text.size() - profile_format::kBlockHeaderSize);  // into the end block
  write_text(b, text);
  const std::string out = dir.file("ab");
  REQUIRE(merge_files({a, b}, out)->damage.size() == 1);
  const auto merged = ProfileReader::open(out);
  REQUIRE(merged.ok());
  CHECK_FALSE(merged->complete());
  CHECK(merged->damage().find("the recorder did not end by itself") != std::string::npos);
  REQUIRE(merged->notes().size() == 1);
  CHECK(merged->notes()[0].find("b: profile '") == 0);
  CHECK(merged->header().node.empty());
  const std::string c = node_file(dir, "c", 1, {{1, 3, 0, 9}});
  REQUIRE(merge_files({out, c}, dir.file("abc")).ok());
  CHECK_FALSE(ProfileReader::open(dir.file("abc"))->complete());
  REQUIRE(merge_files({a, c}, dir.file("ac")).ok());
  CHECK(ProfileReader::open(dir.file("ac"))->complete());
}

TEST_CASE("a merged profile merges as the recordings in it do") {
  const TempDir dir;
  const std::string a = node_file(dir, "a", 1'000'000, {{500, 0, 2, 7}});
  const std::string b = node_file(dir, "b", 1'000'100, {{450, 2, 0, 5}});
  const std::string c = node_file(dir, "c", 999'000, {{5000, 3, 0, 9}});
  const std::string ab = dir.file("ab");
  REQUIRE(merge_files({a, b}, ab).ok());
  const auto twice = merge_files({ab, b}, dir.file("abb"));
  REQUIRE(!twice.ok());
  CHECK(twice.error().message().find("node 'b'") != std::string::npos);
  const auto all = merge_files({c, ab}, dir.file("cab"));
  REQUIRE(all.ok());
  auto reader = ProfileReader::open(dir.file("cab"));
  REQUIRE(reader.ok());
  CHECK(reader->header().nodes == 3);
  CHECK(reader->header().local_ranks == 6);
  REQUIRE(reader->nodes().size() == 3);
  CHECK(reader->nodes()[0].node == "c");
  CHECK(reader->nodes()[1].node == "a");
  CHECK(reader->nodes()[1].shift_ns == 1000);
  CHECK(reader->nodes()[2].node == "b");
  CHECK(reader->nodes()[2].shift_ns == 1100);
  std::vector<std::uint64_t> times;
  for (const ProfileEvent& e : all_events(*reader)) times.push_back(e.time_ns);
  std::sort(times.begin(), times.end());
  CHECK(times == std::vector<std::uint64_t>{1500, 1550, 5000});
}

TEST_CASE(
    "clocks that no machine has are refused, times that reach the end of the clock stay there") {
  const TempDir dir;
  const std::string old = node_file(dir, "old", INT64_MIN, {{1, 0, 1, 2}});
  const std::string now = node_file(dir, "now", INT64_MAX, {{1, 0, 1, 2}});
  const auto apart = merge_files({old, now}, dir.file("o"));
  REQUIRE(!apart.ok());
  CHECK(apart.error().message().find("centuries") != std::string::npos);
  const std::string late = node_file(dir, "late", 1'000, {{UINT64_MAX - 5, 2, 3, 4}});
  const std::string first = node_file(dir, "first", 1, {{1, 0, 1, 2}});
  REQUIRE(merge_files({first, late}, dir.file("o")).ok());
  auto reader = ProfileReader::open(dir.file("o"));
  CHECK(all_events(*reader).back().time_ns == UINT64_MAX - 1);
}

TEST_CASE("profiles that do not belong together are refused") {
  const TempDir dir;
  const std::vector<ProfileEvent> events{{1, 0, 1, 2}};
  const std::string a = node_file(dir, "a", 5, events), b = node_file(dir, "b", 0, events),
                    c = node_file(dir, "c", 5, events, 10);
  CHECK(!merge_files({a}, dir.file("o")).ok());
  CHECK(!merge_files({a, a}, dir.file("o")).ok());
  CHECK(!merge_files({a, c}, dir.file("o")).ok());
  CHECK(!merge_files({a, b}, b).ok());
  CHECK(merge_files({a, b}, dir.file("o"))->clocks_unknown);
}

TEST_CASE("with drops the exact totals stand for the whole run, the events for a window") {
  const TempDir dir;
  auto writer = ProfileWriter::create(dir.file("d"), small_header(2));
  REQUIRE(writer->add({10, 0, 1, 5}).ok());
  REQUIRE(writer->add_drops(std::vector<RankDrops>{{0, 1, 95}}).ok());
  REQUIRE(writer->add_totals(std::vector<PairTotal>{{0, 1, 100, 2}}).ok());
  REQUIRE(writer->finish().ok());
  auto reader = ProfileReader::open(dir.file("d"));
  CHECK(profile_matrix(*reader).total_bytes() == 100);
  CHECK(profile_matrix(*reader, {0, 10}).total_bytes() == 0);
}

TEST_CASE(
    "with drops a merged profile has exact pairs inside the nodes, and recorded ones between") {
  const TempDir dir;
  std::vector<std::string> files;
  for (std::uint32_t n = 0; n < 2; ++n) {
    profile_format::FileHeader header = small_header(4);
    header.node = n == 0 ? "a" : "b";
    header.local_ranks = 2;
    files.push_back(dir.file(header.node));
    auto writer = ProfileWriter::create(files.back(), header);
    REQUIRE(writer->add({10, 2 * n, 2 * n + 1, 5}).ok());
    REQUIRE(writer->add({20, 2 * n, (2 * n + 2) % 4, 7}).ok());
    REQUIRE(writer->add_drops(std::vector<RankDrops>{{2 * n, 1, 95}}).ok());
    REQUIRE(
        writer->add_totals(std::vector<PairTotal>{{2 * n, 2 * n + 1, 100, 2}, {2 * n, 2 * n, 7, 1}})
            .ok());
    REQUIRE(writer->finish().ok());
  }
  REQUIRE(merge_files(files, dir.file("ab")).ok());
  auto reader = ProfileReader::open(dir.file("ab"));
  const CommMatrix matrix = profile_matrix(*reader);
  REQUIRE(matrix.entries.size() == 4);
  for (const MatrixEntry& e : matrix.entries) CHECK(e.bytes == (e.dst / 2 == e.src / 2 ? 100 : 7));
  CHECK(all_drops(*reader).bytes == 190);
}

TEST_CASE("memory volumes") {
  const auto good = parse_memory_csv("rank,accessed_bytes,dram_bytes\n1,100,7\n0,50\n", "m", 2);
  REQUIRE(good.ok());
  REQUIRE(good->size() == 2);
  CHECK((*good)[0].accessed == 50);
  CHECK(!(*good)[0].dram_known);
  CHECK((*good)[1].dram == 7);
  for (const char* bad : {"2,1", "0", "0,x", "0,1,2,3", "0,1\n0,2", "-1,5"})
    CHECK(!parse_memory_csv(bad, "m", 2).ok());
  CHECK(parse_memory_csv("0,1\n2,1", "m", 3).error().message() ==
        "memory 'm': rank 1 of the 3 ranks is missing");
}

TEST_CASE("the report of an online run is a matrix; anything else is one sentence") {
  const auto report = parse_report(
      R"({"version":1,"job":7,"node":"n1","ranks":[{"rank":0},{"rank":2}],
          "matrix":[{"src":0,"dst":2,"bytes":10,"messages":1}],
          "off_node":[{"src":0,"bytes":3,"messages":1}],
          "intervals":[{"t":0.5},{"t":1.5}],"totals":{"remaps":2}})",
      "r");
  REQUIRE(report.ok());
  CHECK(report->matrix.ranks == 3);
  CHECK(report->matrix.total_bytes() == 10);
  CHECK(report->off_node == std::map<int, double>{{0, 3.0}});
  CHECK(report->seconds == 1.5);
  CHECK(report->remaps == 2);
  const auto odd = parse_report(
      R"({"job":1e300,"step":-1,"ranks":[{"rank":0}],"matrix":[],"totals":{"remaps":1e300}})", "r");
  REQUIRE(odd.ok());
  CHECK(odd->job == 0);
  CHECK(odd->step == 0);
  const auto words =
      parse_report(R"({"node":"n 1\n\u001b[31m slot=0","ranks":[{"rank":0}],"matrix":[]})", "r");
  REQUIRE(words.ok());
  CHECK(words->node == "n?1??[31m?slot=0");
  CHECK(parse_report(R"({"ranks":[{"rank":0},{"rank":-1}],"matrix":[]})", "r").error().message() ==
        "report 'r' is of a step that ended before all of its tasks had been started");
  for (const char* bad : {"{", "{}", "[]", R"({"matrix":[],"ranks":[]})",
                          R"({"matrix":[{"src":-1,"dst":0,"bytes":1,"messages":1}],"ranks":[]})",
                          R"({"matrix":[{"src":0,"dst":1,"bytes":-1,"messages":1}],"ranks":[]})",
                          R"({"matrix":[{"src":0,"dst":1}],"ranks":[]})"})
    CHECK(!parse_report(bad, "r").ok());
}
