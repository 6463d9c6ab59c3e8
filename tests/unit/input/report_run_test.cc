// SPDX-License-Identifier: Apache-2.0
#include "mapcore/input/report_run.h"

#include <fmt/format.h>

#include <cmath>
#include <ctime>

#include "mapcore/report/report.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("the story of a report has its intervals, decisions and ranks") {
  const auto found = parse_report_run(R"({"node":"n\u001b1","job":7,"mode":"online",
    "topology":{"numa":[{"os":0,"pus":"0-1"}]},
    "ranks":[{"rank":3,"initial_cpus":"0","final_cpus":"1","migrations":2,
              "gpus":["card1","card2"],"gpu_source":"open","gpus_near_at_start":false,
              "gpus_near_at_end":true},{"rank":-1}],
    "matrix":[{"src":3,"dst":4,"bytes":9,"messages":1}],
    "adapters":[{"name":"mlx5\u001b0","near_bytes":5000,"far_bytes":-1},7],
    "intervals":[{"t":0.5,"bytes":9,"cost_before":0.1,"decision":"small","gain":0.01,
                  "threshold":0.02,"remote_share_before":null},
                 {"t":1.5,"bytes":9,"cost_before":0.1,"decision":"remaps","moved":[3],
                  "ledger":-0.25,"migration":0.05}],
    "model":{"latency":"measured 2026-11-24 on n1"},
    "energy":{"seconds":1.5,"package_joules":1250,"dram_joules":null,"why_no_dram":"no\u001bcounter"},
    "memory":{"local_bytes":600,"total_bytes":1000,"remote_share":0.4},
    "totals":{"wall_ms":1500,"domains":[{"domain":"llc","bytes_before":1,"bytes_after":9},
              {"domain":"node","bytes_before":8,"messages_after":-3},{"domain":"moon"},7]},"notes":["a",5]})",
                                      "r");
  REQUIRE(found.ok());
  CHECK(found->node == "n?1");
  CHECK(adapters_text(found->adapters) ==
        "through mlx5?0 to other nodes: 5 kB from ranks near it, 0 B from other ranks\n");
  REQUIRE(found->ranks.size() == 1);
  CHECK(found->ranks[0].last_cpus == "1");
  CHECK(found->ranks[0].gpus == "card1, card2 (open), away at the start, near at the end");
  REQUIRE(found->run.steps.size() == 2);
  CHECK(found->run.steps[0].decision.kind == DecisionKind::kSmall);
  CHECK_FALSE(found->run.steps[0].remote_before);
  CHECK(found->run.steps[1].begin == 0.5);
  CHECK(found->run.steps[1].moved == std::vector<int>{3});
  CHECK(found->run.saved == Approx(0.2));
  CHECK(found->levels.before.bytes == std::array<double, kDomainCount>{0, 0, 1, 8, 0, 0});
  CHECK(found->levels.after.bytes == std::array<double, kDomainCount>{0, 0, 9, 0, 0, 0});
  CHECK(found->levels.after.all_messages() == 0);
  CHECK(found->model.front().second == "measured 2026-11-24 on n1");
  CHECK(use_text(found->use) ==
        "energy of the node in 1.5 s: packages 1.25 kJ, memory unknown (no?counter)\n"
        "memory traffic of the node: 1 kB, 40.0 % of it remote (measured)\n");
  CHECK(found->notes == std::vector<std::string>{"a"});
}

TEST_CASE("a run that neither saved nor lost time has saved zero without a sign") {
  const auto found = parse_report_run(
      R"({"matrix":[],"ranks":[],"intervals":[{"t":1,"decision":"keeps","ledger":0.0}]})", "r");
  REQUIRE(found.ok());
  CHECK(found->run.saved == 0);
  CHECK_FALSE(std::signbit(found->run.saved));
}

TEST_CASE("bytes that are in no interval are known, from the sums of a report too") {
  const auto outcome_of = [](const std::string& matrix, int pid, ReportParts parts) {
    const auto found = parse_report_run(fmt::format(R"({{"intervals":[],"matrix":[{}],
      "ranks":[{{"rank":0,"pid":{}}}],"off_node":[{{"src":0,"dst":-1,"bytes":7}}]}})",
                                                    matrix, pid),
                                        "r", parts);
    REQUIRE(found.ok());
    return outcome(found->run);
  };
  const std::string cell = R"({"src":0,"dst":1,"bytes":9,"messages":1})";
  for (const ReportParts parts : {ReportParts::kWhole, ReportParts::kSums}) {
    CHECK(outcome_of("", 5, parts) == Outcome::kSilent);
    CHECK(outcome_of(cell, 5, parts) == Outcome::kShort);
  }
  CHECK(outcome_of("", 0, ReportParts::kWhole) == Outcome::kSilent);  // sent to other nodes only
  for (const std::string note : {kNobodyCalled, "rank 0: left alone"}) {
    const auto uncounted = parse_report_run(
        R"({"intervals":[],"ranks":[{"rank":0,"pid":0}],"notes":[")" + note + R"("]})", "r");
    REQUIRE(uncounted.ok());
    CHECK(outcome(uncounted->run) == Outcome::kUncounted);
    CHECK(uncounted->run.left_alone == (note != kNobodyCalled));
  }
}

TEST_CASE("the sums of a report are read without its large parts, which have to be JSON too") {
  const auto read = [](const std::string& text, ReportParts parts = ReportParts::kSums) {
    return parse_report_run(text, "r", parts);
  };
  const std::string large =
                        R"({"matrix":[{"src":0,"dst":1,"bytes":9,"x":[[1],{"y":"}"}]}],"model":5,
    "topology":{"numa":[{"os":0,"pus":"0-1"}]},"ranks":[{"rank":0,"pid":7}],
    "totals":{"wall_ms":-1.5e3,"matrix":null},"complete":false,
    "intervals":[{"t":1,"bytes":9,"moved":[0]},{"t":2,"moved":[]}])",
                    tail = R"(,"notes":["\u00e9"],"job":7})";
  const auto sums = read(large + tail), whole = read(large + tail, ReportParts::kWhole);
  REQUIRE(sums.ok());
  REQUIRE(whole.ok());
  CHECK(sums->numa.empty());
  CHECK(sums->matrix.empty());
  CHECK(whole->matrix.size() == 1);
  CHECK(sums->job == 7);
  CHECK(sums->wall_ms == -1500);
  CHECK_FALSE(sums->complete);
  CHECK(sums->notes == whole->notes);
  CHECK(sums->attached == 1);
  REQUIRE(sums->run.steps.size() == 2);
  CHECK(sums->run.steps[0].moved == std::vector<int>{0});
  for (const char* end :
       {"", R"(,"model":[1,})", R"(,"off_node":[1]]})", R"(,"step":1e999})", "}}"})
    CHECK_FALSE(read(large + end).ok());
}

TEST_CASE("the sums of a report take no longer to read than all of it, but for a small factor") {
  std::string text = R"({"intervals":[],"ranks":[{"rank":0})";
  for (int i = 0; i < 100'000; ++i) text += R"(,{"rank":1})";
  text += "]}";
  const auto clocks = [&](ReportParts parts) {
    const std::clock_t begin = std::clock();
    REQUIRE(parse_report_run(text, "r", parts).ok());
    return static_cast<double>(std::clock() - begin);
  };
  const double whole = clocks(ReportParts::kWhole);
  CHECK(clocks(ReportParts::kSums) < 8 * whole);
}

TEST_CASE("a report with more intervals than a mapper writes is refused") {
  const auto read = [](std::size_t intervals) {
    std::string text = R"({"ranks":[],"intervals":[1)";
    for (std::size_t i = 1; i < intervals; ++i) text += ",1";
    return parse_report_run(text + "]}", "r");
  };
  CHECK(read(kMostReportedIntervals).ok());
  const auto refused = read(kMostReportedIntervals + 1);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message() ==
        "'r' is not a report of ondeloc: it has more than 1000000 intervals");
}

TEST_CASE("the verdict of a static step says that its ranks were bound once") {
  const auto told = [](const std::string& mode) {
    const auto found = parse_report_run(R"({"mode":")" + mode + R"(","ranks":[],"intervals":
      [{"t":1,"bytes":9,"cost_before":0.1,"decision":"fixed"}]})",
                                        "r");
    REQUIRE(found.ok());
    return verdict(found->run);
  };
  CHECK(told("static").starts_with("ranks were bound once, when the step started; messages take "));
  CHECK(told("online").starts_with("not moved because "));
}

TEST_CASE("a run knows the rule of its decisions") {
  const auto rule_of = [](const std::string& options) {
    const auto found = parse_report_run(R"({"intervals":[],"ranks":[])" + options + "}", "r");
    REQUIRE(found.ok());
    return found->run.decide;
  };
  CHECK(rule_of(R"(,"options":{"decide":"always"})") == Decide::kAlways);
  CHECK(rule_of(R"(,"options":{"decide":5})") == Decide::kAuto);
  CHECK(rule_of("") == Decide::kAuto);
}

TEST_CASE("the story of a long run counts the intervals that a line stands for") {
  const auto found = parse_report_run(R"({"ranks":[],"totals":{"remaps":2},"intervals":[
    {"t":8,"count":8,"decision":"keeps"},{"t":9,"count":-5,"decision":"keeps"},
    {"t":12,"count":3,"bytes":9,"decision":"remaps","moved":[3]}]})",
                                      "r");
  REQUIRE(found.ok());
  CHECK(intervals_of(found->run) == 12);
  CHECK(remaps_of(found->run) == 2);
}

TEST_CASE("no byte is between NUMA nodes if one node spans both packages") {
  const std::string totals =
      R"("intervals":[],"ranks":[],"totals":{"domains":[{"domain":"machine","bytes_before":8,
         "bytes_after":8}]},"topology":)";
  const auto between = [&](const char* topology) {
    const auto found = parse_report_run("{" + totals + topology + "}", "r");
    REQUIRE(found.ok());
    return found->run.crossing_as_moved;
  };
  CHECK(between(R"({"numa":[{"os":0,"pus":"0-3"}]})") == 0.0);
  CHECK(between(R"({"numa":[{"os":0,"pus":"0-1"},{"os":1,"pus":"2-3"}]})") == 1.0);
  CHECK(between("{}") == 1.0);  // the number of nodes is not known
}

TEST_CASE("bytes between packages of one NUMA node are not bytes between NUMA nodes") {
  const std::string domains =
      R"("domains":[{"domain":"machine","bytes_before":8,"bytes_after":8}])";
  const std::string rest =
      R"(,"ranks":[],"topology":{"numa":[{"os":0,"pus":"0-1"},{"os":1,"pus":"2-3"}]}})";
  const auto run_of = [&](const std::string& intervals, const std::string& totals) {
    const auto found = parse_report_run(
        R"({"intervals":[)" + intervals + R"(],"totals":{)" + totals + "}" + rest, "r");
    REQUIRE(found.ok());
    return found->run;
  };
  const Run told = run_of("", R"("remote_share_before":0.5,"remote_share_after":0.25,)" + domains);
  CHECK(told.crossing_at_start == 0.5);
  CHECK(told.crossing_as_moved == 0.25);
  // Reports of earlier releases: the intervals know better than the levels.
  const std::string line = R"({"t":1,"bytes":8,"remote_share_before":)";
  CHECK(run_of(line + "0}", domains).crossing_as_moved == std::nullopt);
  CHECK(run_of(line + "1}", domains).crossing_as_moved == 1.0);
}

TEST_CASE("energy and traffic that nobody knows have one reason each, and old reports none") {
  const auto told = [](const std::string& keys) {
    const auto run = parse_report_run("{\"intervals\":[],\"ranks\":[]" + keys + "}", "r");
    REQUIRE(run.ok());
    return use_text(run->use);
  };
  CHECK(told("").empty());
  CHECK(told(R"(,"energy":{"package_joules":null,"why_no_package":"x","why_no_dram":"x"},
                 "memory":{"why_unknown":"y"})") ==
        "energy of the node: unknown (x)\nmemory traffic of the node: unknown (y)\n");
  CHECK(told(R"(,"counters":{"cache_misses":null,"why_no_misses":"a\u001b","why_no_bytes":"b"})") ==
        "cache misses of the ranks: unknown (a?)\n"
        "memory controllers of the node: unknown (b)\n");
  CHECK(told(R"(,"counters":{"cache_misses":123456,"read_bytes":2e9,"written_bytes":1e9})") ==
        "cache misses of the ranks: 1.235e+05\n"
        "memory controllers of the node: 2 GB read, 1 GB written\n");
  const auto hostile = parse_report_run(
      R"({"intervals":[],"ranks":[],"energy":{"package_joules":-1e200,"dram_joules":1e200}})", "r");
  REQUIRE(hostile.ok());
  CHECK(hostile->use.package_joules == 0.0);
  CHECK(hostile->use.dram_joules == 1e18);
}

TEST_CASE("odd reports are read as far as they go, or refused in a sentence") {
  for (const char* text :
       {R"({"intervals":[5,{"t":-1,"moved":"x","decision":5}],"ranks":[7]})",
        R"({"intervals":[{"t":1e307,"bytes":-1e307}],"ranks":[],"matrix":5,"notes":{}})"})
    CHECK(parse_report_run(text, "r").ok());
  for (const char* text : {"", "{}", "[]", R"({"intervals":{},"ranks":[]})", "{\"intervals\":["})
    CHECK_FALSE(parse_report_run(text, "r").ok());
}
