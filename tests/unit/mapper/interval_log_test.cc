// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/interval_log.h"

#include <algorithm>

#include "mapcore/mapper/collect.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

ReportInterval interval_at(double t, const char* decision, double gain = 0) {
  ReportInterval line;
  line.t = t;
  line.interval_ms = 1000;
  line.bytes = 10;
  line.cost_before = line.cost_after = 0.5;
  line.decision = decision;
  line.gain = gain;
  line.threshold = 0.1;
  return line;
}

ReportInterval moves_at(double t, std::vector<int> moved, std::vector<std::string> to) {
  ReportInterval line = interval_at(t, "remaps", 0.2);
  line.remapped = true;
  line.moved = std::move(moved);
  line.moved_to = std::move(to);
  return line;
}

std::size_t intervals_in(const IntervalLog& log) {
  std::size_t sum = 0;
  for (const ReportInterval& line : log.kept()) sum += line.count;
  return sum;
}

Report report_of(const IntervalLog& log) {
  Report report;
  report.intervals = log.kept();
  report.remaps = log.remaps();
  return report;
}

}  // namespace

TEST_CASE("a log that is not full has a line for each interval") {
  IntervalLog log(8, 2);
  for (int t = 1; t <= 8; ++t) log.keep(interval_at(t, "keeps"));
  CHECK(log.kept().size() == 8);
  CHECK(log.note().empty());
}

TEST_CASE("the lines of a long run cover all of it, and the last ones stand alone") {
  IntervalLog log(8, 2);
  log.keep(moves_at(1, {0, 1}, {"1", "0"}));
  for (int t = 2; t <= 1000; ++t) {
    log.keep(interval_at(t, "small", 0.01));
    REQUIRE(log.kept().size() <= 16);
    REQUIRE(log.kept().back().t == t);
    if (t == 2) continue;
    REQUIRE(log.kept().back().count == 1);
    REQUIRE(log.kept()[log.kept().size() - 2].t == t - 1);
  }
  CHECK(intervals_in(log) == 1000);
  CHECK(log.kept().front().t == 1);
  CHECK(log.kept().front().count == 1);
  CHECK(log.kept().front().moved == std::vector<int>{0, 1});
  const Run run = run_of(report_of(log));
  CHECK(run.seconds() == 1000);
  CHECK(missed_by(run) == Approx(9.99));
  double bytes = 0, cost = 0, seconds = 0;
  for (const RunStep& step : run.steps) {
    bytes += step.bytes;
    cost += step.cost;
    seconds += step.looked_seconds;
  }
  CHECK(bytes == 10000);
  CHECK(cost == Approx(500));
  CHECK(seconds == 1000);
  CHECK(verdict(run).starts_with("moved ranks in 1 of 1000 intervals; "));
  CHECK(log.note().starts_with("a long run: 1000 intervals are put together to "));
  CHECK(log.note().ends_with(" (count tells how many)"));
}

TEST_CASE("a program that is silent for long and then sends is not called silent") {
  IntervalLog log(8, 2);
  for (int t = 1; t <= 100; ++t) {
    ReportInterval line = interval_at(t, "silent");
    line.bytes = line.cost_before = line.threshold = 0;
    log.keep(std::move(line));
  }
  for (int t = 101; t <= 105; ++t) log.keep(interval_at(t, "small", 0.2));
  for (int t = 106; t <= 300; ++t) log.keep(interval_at(t, "waits"));
  const Run run = run_of(report_of(log));
  CHECK(outcome(run) == Outcome::kMissed);
  CHECK(missed_by(run) == Approx(1));
}

TEST_CASE("lines that are put together have sums, shares of all bytes and the greatest load") {
  IntervalLog log(2, 0);
  ReportInterval first = interval_at(1, "keeps", -0.3), second = interval_at(2, "small", 0.05),
                 third = interval_at(3, "waits");
  first.remote_share_before = 0.5;
  first.peak_load_before = 1.5;
  first.domains = {{"llc", 10, 10, 1, 1}};
  first.ledger = 3;
  second.bytes = 30;
  second.remote_share_before = 0.1;
  second.peak_load_before = 1.2;
  second.domains = {{"llc", 25, 25, 2, 2}, {"machine", 5, 5, 1, 1}};
  second.horizon = 7;
  second.ledger = 4;
  third.bytes = 0;
  third.interval_ms = 3000;
  third.gain = 99;
  for (const ReportInterval* line : {&first, &second, &third}) log.keep(*line);
  REQUIRE(log.kept().size() == 1);
  const ReportInterval& line = log.kept()[0];
  CHECK(line.count == 3);
  CHECK(line.t == 3);
  CHECK(line.interval_ms == 3000);
  CHECK(line.bytes == 40);
  CHECK(line.cost_before == Approx(1.5));
  REQUIRE(line.remote_share_before);
  CHECK(*line.remote_share_before == Approx(0.2));
  CHECK_FALSE(line.remote_share_after);
  CHECK(line.peak_load_before == 1.5);
  REQUIRE(line.domains.size() == 2);
  CHECK(line.domains[0].bytes_after == 35);
  CHECK(line.domains[1].messages_before == 1);
  CHECK(line.decision == "small");
  CHECK(line.gain == Approx(0.05));
  CHECK(line.threshold == Approx(0.2));
  CHECK(line.horizon == 7);
  CHECK(line.ledger == 4);
}

TEST_CASE("moves that fill the log are put together, and each line ends with its mapping") {
  IntervalLog log(8, 2);
  for (int t = 1; t <= 500; ++t) {
    log.keep(t % 2 == 0 ? moves_at(t, {0, 1}, {"0", "1"}) : moves_at(t, {1, 2}, {"2", "1"}));
    REQUIRE(log.kept().size() <= 16);
  }
  CHECK(intervals_in(log) == 500);
  CHECK(log.remaps() == 500);
  const ReportInterval& line = log.kept().front();
  REQUIRE(line.count > 1);
  CHECK(line.moved == std::vector<int>{1, 2, 0});
  const bool ends_odd = static_cast<int>(line.t) % 2 == 1;
  CHECK(line.moved_to == std::vector<std::string>{ends_odd ? "2" : "1", "1", "0"});
  CHECK(verdict(run_of(report_of(log))).starts_with("moved ranks in 500 of 500 intervals; "));
  CHECK(log.note().ends_with(", some with moves of ranks among them"));
}
