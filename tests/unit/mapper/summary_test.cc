// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/collect.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE(
    "the summary of a step has the bytes that left the node, and one of a thing is singular") {
  Report report;
  report.node = "n1";
  report.ranks.resize(2);
  report.matrix = {{0, 1, 1'500'000, 3}};
  report.off_node = {{0, -1, 150'000'000, 3}};
  report.remaps = 1;
  report.migrations = 2;
  report.mapper_cpu_ms = 3;
  report.wall_ms = 1500;
  CHECK(summary_line(report) ==
        "n1: 2 ranks, 1.5 MB between them, 150 MB to other nodes, 1 remap, 2 migrations, mapper 3 "
        "ms CPU of 1.5 s");
  report.adapters = {{"mlx5_0", 30'000'000, 90'000'000}, {"mlx5_1", 30'000'000, 0}};
  CHECK(summary_line(report).find(", 150 MB to other nodes (60 % far from its adapter), ") !=
        std::string::npos);
  report.energy.package_joules = 1000;
  report.energy.dram_joules = 500;
  CHECK(summary_line(report).ends_with("mapper 3 ms CPU of 1.5 s, the node used 1.5 kJ"));
  report.counters.why_no_misses = "no counter";
  CHECK(summary_line(report).ends_with("1.5 kJ, cache misses unknown (no counter)"));
  report.counters.cache_misses = 1234567;
  CHECK(summary_line(report).ends_with("1.5 kJ, 1.23e+06 cache misses"));
  report.off_node.clear();
  CHECK(summary_line(report).find("other nodes") == std::string::npos);
}

TEST_CASE("the verdict of a step without intervals tells a silent one from others") {
  Report report;
  report.ranks.resize(2);
  CHECK(verdict(run_of(report)).starts_with("nothing was counted: "));
  report.ranks[1].pid = 12;
  CHECK(verdict(run_of(report)).ends_with(" sent each other nothing"));
  report.off_node = {{0, -1, 5'000'000, 1}};
  CHECK(verdict(run_of(report)).ends_with("; 5 MB went to other nodes"));
  report.matrix = {{0, 1, 1'000'000, 3}};
  CHECK(verdict(run_of(report)) ==
        "nothing moved, because no decision was due before the run ended; 5 MB went to other "
        "nodes");
}

TEST_CASE("the verdict of a report uses its decisions") {
  Report report;
  ReportInterval interval;
  interval.t = 1;
  interval.bytes = 10;
  interval.cost_before = 0.2;
  interval.decision = "remaps";
  interval.remapped = true;
  interval.moved = {0};
  interval.migration = 0.01;
  report.intervals.push_back(interval);
  interval.t = 2;
  interval.decision = "keeps";
  interval.moved.clear();
  interval.ledger = -0.04;
  report.intervals.push_back(interval);
  interval.decision = "";  // the last one is measured only
  interval.ledger = 0;
  report.intervals.push_back(interval);
  CHECK(verdict(run_of(report)) ==
        "moved ranks in 1 of 3 intervals; predicted to save 2 % of the run (40 ms); "
        "messages take 30 % of the run (600 ms), predicted");
}
