// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mapcore/input/placement_source.h"
#include "mapcore/input/traffic_source.h"
#include "tests/unit/profile/profile_fixture.h"

using namespace ondeloc;

TEST_CASE("a file is known by its content") {
  CHECK(kind_of_text("ODLPROF1...") == InputKind::kProfile);
  CHECK(kind_of_text("{\"version\":1,\"ranks\":[],\"matrix\":[]}") == InputKind::kReport);
  CHECK(kind_of_text("{\"ranks\":[{\"matrix\":1}]}") == InputKind::kMapping);
  CHECK(kind_of_text("{\"a\":\"\\\"ranks\\\":\"}") == InputKind::kOtherJson);
  CHECK(kind_of_text("{\"job\":1,\"matrix\":[{\"src\":0") == InputKind::kCutJson);
  CHECK(kind_of_text("{\"ranks\":[]") == InputKind::kCutJson);
  CHECK(kind_of_text("[1, 2]") == InputKind::kOtherJson);
  CHECK(kind_of_text("\xEF\xBB\xBF# comment\n\nsrc,dst,bytes\n") == InputKind::kPairs);
  CHECK(kind_of_text("\"interval\",src,dst,bytes\n") == InputKind::kSeries);
  CHECK(kind_of_text("time_us,src,dst,bytes\n") == InputKind::kEvents);
  CHECK(kind_of_text("rank 0=a slot=0\n") == InputKind::kRankfile);
  CHECK(kind_of_text("// mpirun\nrank 0=a slot=0\n") == InputKind::kRankfile);
  CHECK(kind_of_text("0 1.5e3\n2 0\n") == InputKind::kMatrix);
  CHECK(kind_of_text("<?xml version=\"1.0\"?>\n<topology>") == InputKind::kTopology);
  CHECK(kind_of_text(" \n\t\n") == InputKind::kEmpty);
  CHECK(kind_of_text("\x7f"
                     "ELF") == InputKind::kUnknown);
}

TEST_CASE("a wrong kind is named, with what to do") {
  CHECK(wrong_kind("app.prof", InputKind::kProfile, Need::kMapping).message() ==
        "'app.prof' is a profile, which holds no mapping; give one of: the report of an online "
        "run, a mapping in JSON, a rankfile");
  CHECK(wrong_kind("e.csv", InputKind::kEvents, Need::kTraffic).message() ==
        "'e.csv' is a list of messages, which holds no traffic; make a profile of it with "
        "'ondeloc profile import'");
}

TEST_CASE("the series of a profile has its messages, interval by interval") {
  const TempDir dir;
  const std::string path = write_profile(
      dir, 3, {{1'000'000'000, 0, 1, 10}, {1'400'000'000, 0, 1, 5}, {2'100'000'000, 1, 2, 7}});
  auto source = open_traffic(path, Need::kSeries);
  REQUIRE(source.ok());
  const auto series = series_of(*source, 0.5);
  REQUIRE(series.ok());
  REQUIRE(series->size() == 3);
  CHECK((*series)[0].total_bytes() == 15);
  CHECK((*series)[1].total_bytes() == 0);
  CHECK((*series)[2].total_bytes() == 7);
  CHECK((*series)[2].ranks == 3);
  CHECK_FALSE(series_of(*source, 1e-6).ok());  // a million intervals
}

TEST_CASE("the series of a report has the bytes that came in each time") {
  const TempDir dir;
  write_text(dir.file("r.json"), R"({"ranks":[{"rank":0},{"rank":1}],
    "matrix":[{"src":0,"dst":1,"bytes":400,"messages":4}],
    "intervals":[{"t":1,"bytes":100},{"t":2,"bytes":0},{"t":4,"bytes":300}]})");
  auto source = open_traffic(dir.file("r.json"), Need::kSeries);
  REQUIRE(source.ok());
  CHECK(has_one_pattern(*source));
  const auto series = series_of(*source, 1);
  REQUIRE(series.ok());
  REQUIRE(series->size() == 4);
  const double expected[] = {100, 0, 150, 150};
  for (std::size_t i = 0; i < 4; ++i) CHECK((*series)[i].total_bytes() == Approx(expected[i]));
}

TEST_CASE("a long series of a large matrix is refused before it fills the memory") {
  ReportInput report;
  report.seconds = 40000;
  std::vector<MatrixEntry> pairs;
  for (int src = 0; src < 64; ++src)
    for (int dst = 0; dst < 64; ++dst) pairs.push_back({src, dst, 1000, 10});
  report.matrix = CommMatrix::from_entries(64, std::move(pairs));
  TrafficSource source(std::move(report));
  CHECK(series_of(source, 0.5).error().message() ==
        "the run has 80000 intervals of this length, more than 16644 matrices of 4032 pairs; use "
        "longer ones");
  CHECK(series_of(source, 100)->size() == 400);
}

TEST_CASE("the mapping of a report is where its ranks ended") {
  const auto placement = parse_report_placement(
      R"({"ranks":[{"rank":1,"final_cpus":"2-3"},{"rank":0,"final_cpus":"0"}]})", "r");
  REQUIRE(placement.ok());
  REQUIRE(placement->size() == 2);
  CHECK(placement->at(1).to_list() == "2-3");
  for (const char* wrong : {"{}", R"({"ranks":[{"rank":0}]})", R"({"ranks":[5]})",
                            R"({"ranks":[{"rank":-1,"final_cpus":"0"}]})",
                            R"({"ranks":[{"rank":0,"final_cpus":"x"}]})"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_report_placement(wrong, "r").ok());
  }
}

TEST_CASE("a mapping has a bounded number of ranks, and each may have any number") {
  std::string lines;
  for (std::size_t i = 0; i < kMostPlacedRanks; ++i)
    lines += R"({"rank":)" + std::to_string(kMaxWorldRank - i) + R"(,"pus":[0]},)";
  const auto with = [&](int rank) {
    return parse_mapping_json(
        R"({"ranks":[)" + lines + R"({"rank":)" + std::to_string(rank) + R"(,"pus":[0]}]})", "m");
  };
  CHECK(with(0).error().message() ==
        "mapping 'm': the file places more than 8192 ranks; a mapping is of one node");
  lines.erase(0, lines.find("},") + 2);
  CHECK(with(0)->size() == kMostPlacedRanks);
  CHECK_FALSE(with(kMaxWorldRank + 1).ok());
}

TEST_CASE("a profile comes from a pipe as from a file; a pipe without a writer is empty") {
  const TempDir dir;
  const std::string path = write_profile(dir, 2, {{1, 0, 1, 10}});
  const std::string text = read_text(path);
  REQUIRE(mkfifo(dir.file("pipe").c_str(), 0600) == 0);
  CHECK(load_input(dir.file("pipe"))->kind == InputKind::kEmpty);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const UniqueFd reading(ends[0]);
  REQUIRE(write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  close(ends[1]);
  auto source = open_traffic("/dev/fd/" + std::to_string(ends[0]));
  REQUIRE(source.ok());
  CHECK(std::get<ProfileReader>(*source).events() == 1);
  CHECK_FALSE(load_input(dir.file("none")).ok());
}
