// SPDX-License-Identifier: Apache-2.0
// The account of made reports against sums that the test keeps itself.
#include "mapcore/site/account.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <random>
#include <sstream>

#include "mapcore/base/joules_text.h"
#include "mapcore/base/text.h"
#include "mapcore/site/account_text.h"
#include "mapcore/site/read_directory.h"
#include "tests/unit/catch.h"
#include "tests/unit/site/made_reports.h"

using namespace ondeloc;

namespace {

std::string number_of(uid_t user) { return fmt::format("{}", user); }

SiteFiles files_of(const TempDir& dir) {
  auto files = read_site_directory(dir.path(), 0);
  REQUIRE(files.ok());
  return *std::move(files);
}

StepFate fate_of(const MadeStep& made) {
  const TempDir dir;
  write_made(dir, made);
  const auto steps = steps_of(files_of(dir).reports);
  REQUIRE(steps.size() == 1);
  return steps[0].fate;
}

// The sums of the steps of one program.
struct Expected {
  std::size_t steps = 0, moved = 0;
  double saved = 0, missed = 0, bytes = 0, joules = 0;
};

MadeStep random_step(std::mt19937& random, std::uint32_t job) {
  const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  MadeStep made;
  made.job = job;
  made.step = below(3);
  made.program = fmt::format("/opt/bin/app{}", below(7));
  made.partition = below(2) == 0 ? "batch" : "long";
  made.bytes = 1000 + below(100000);
  made.joules = below(2) == 0 ? 0 : 1 + below(5000);
  if (below(3) == 0) {
    made.kind = DecisionKind::kRemaps;
    made.saved = 0.001 * below(1000);
  } else if (below(2) == 0) {
    made.kind = DecisionKind::kUnpaid;
    made.gain = 0.1 + 0.001 * below(100);
  }
  return made;
}

// The sum of the values of all lines that begin with `head`. `column`: of the value.
double sum_of(const std::string& text, const std::string& head, std::size_t column) {
  double sum = 0;
  for (const std::string_view line : split(text, '\n')) {
    if (!line.starts_with(head)) continue;
    std::string value(split(line, ' ').at(column));
    if (value.starts_with("value=")) value.erase(0, 6);
    sum += std::stod(value);
  }
  return sum;
}

}  // namespace

TEST_CASE("a step has the fate that its report tells") {
  CHECK(fate_of({}) == StepFate::kStayed);
  CHECK(fate_of({.bytes = 0}) == StepFate::kSilent);
  CHECK(fate_of({.kind = DecisionKind::kWaits}) == StepFate::kShort);
  CHECK(fate_of({.cost = 0.01}) == StepFate::kNoStake);
  CHECK(fate_of({.kind = DecisionKind::kSmall, .gain = 0.2}) == StepFate::kMissed);
  CHECK(fate_of({.kind = DecisionKind::kRemaps, .saved = 0.2}) == StepFate::kMoved);
  CHECK(fate_of({.attached = false}) == StepFate::kUncounted);
  CHECK(fate_of({.bytes = 0, .attached = false}) == StepFate::kUncounted);
  CHECK(fate_of({.complete = false}) == StepFate::kUnfinished);
  CHECK(name_of(StepFate::kUnfinished) == "unfinished");
}

TEST_CASE("a step on several nodes counts once, with its most telling fate") {
  const TempDir dir;
  write_made(dir, {.node = "n1"});
  write_made(dir, {.node = "n2", .kind = DecisionKind::kRemaps, .saved = 1.5});
  write_made(dir, {.step = 1, .node = "n1"});
  const SiteAccount account = account_of(steps_of(files_of(dir).reports));
  CHECK(account.totals.steps == 2);
  CHECK(account.totals.of(StepFate::kMoved) == 1);
  CHECK(account.totals.of(StepFate::kStayed) == 1);
  CHECK(account.totals.sums.reports == 3);
  CHECK(account.totals.sums.ranks == 12);
  CHECK(account.totals.sums.saved == Approx(1.5));
  CHECK(account.totals.sums.seconds == Approx(3 * kMadeSeconds));
  CHECK(account.totals.sums.mapper_cpu == Approx(3 * kMadeCpu));
}

TEST_CASE("a thousand reports add up, and every format shows the same numbers") {
  const TempDir dir;
  std::mt19937 random(26);
  std::map<std::string, Expected> expected;
  Expected all;
  for (std::uint32_t job = 1; job <= 1000; ++job) {
    const MadeStep made = random_step(random, job);
    write_made(dir, made);
    for (Expected* sum : {&expected[made.program.substr(9)], &all}) {
      ++sum->steps;
      sum->moved += made.kind == DecisionKind::kRemaps ? 1 : 0;
      sum->saved += made.saved;
      sum->missed += made.gain;
      sum->bytes += made.bytes;
      sum->joules += made.joules;
    }
  }
  const SiteFiles files = files_of(dir);
  REQUIRE(files.reports.size() == 1000);
  CHECK(files.skipped == 0);
  const SiteAccount account = account_of(steps_of(files.reports));
  CHECK(account.totals.steps == all.steps);
  CHECK(account.totals.of(StepFate::kMoved) == all.moved);
  CHECK(account.totals.sums.saved == Approx(all.saved));
  CHECK(account.totals.sums.missed == Approx(all.missed));
  for (const auto& [program, sum] : expected) {
    Expected found;
    for (const SiteGroup& group : account.groups) {
      if (group.program != program) continue;
      found.steps += group.totals.steps;
      found.saved += group.totals.sums.saved;
    }
    CAPTURE(program);
    CHECK(found.steps == sum.steps);
    CHECK(found.saved == Approx(sum.saved));
  }
  const SiteView view{files, account, number_of, "meggie"};
  const auto json = nlohmann::json::parse(site_json(view));
  CHECK(json["total"]["steps"] == all.steps);
  CHECK(json["total"]["fates"]["moved"] == all.moved);
  CHECK(json["total"]["bytes"].get<double>() == Approx(all.bytes));
  CHECK(json["groups"].size() == account.groups.size());
  const std::string prometheus = site_prometheus(view), influx = site_influx(view);
  CHECK(sum_of(prometheus, "ondeloc_site_steps{", 1) == all.steps);
  CHECK(sum_of(prometheus, "ondeloc_site_bytes{", 1) == Approx(all.bytes));
  CHECK(sum_of(prometheus, "ondeloc_site_predicted_saved_seconds{", 1) == Approx(all.saved));
  CHECK(json["total"]["package_joules"].get<double>() == Approx(all.joules));
  CHECK(sum_of(prometheus, "ondeloc_site_package_joules{", 1) == Approx(all.joules));
  CHECK(sum_of(prometheus, "ondeloc_site_dram_joules{", 1) == Approx(all.joules / 10));
  CHECK(sum_of(prometheus, "ondeloc_site_cache_misses{", 1) == Approx(7 * all.joules));
  CHECK(sum_of(influx, "ondeloc_bytes,cluster=meggie,hostname=n1,type=node,type-id=0,", 1) ==
        Approx(all.bytes));
  const std::string text = site_text(view);
  CHECK(text.find("1000 steps in 1000 reports") == 0);
  CHECK(text.find(fmt::format("{:>8} moved", all.moved)) != text.npos);
  CHECK(text.find(fmt::format(": packages {}, memory {}\n", joules_text(all.joules),
                              joules_text(all.joules / 10))) != text.npos);
  CHECK(text.find(fmt::format(" reports tell: {:.4g}\n", 7 * all.joules)) != text.npos);
}

TEST_CASE("the account has a column of energy only if a report tells it") {
  for (const double joules : {0.0, 2500.0}) {
    const TempDir dir;
    write_made(dir, {.job = 1, .joules = joules});
    write_made(dir, {.job = 2});
    const SiteFiles files = files_of(dir);
    const SiteAccount account = account_of(steps_of(files.reports));
    const std::string text = site_text({files, account, number_of, ""});
    CHECK((text.find("      CPU    energy\n") != text.npos) == (joules > 0));
    CHECK((text.find("as 1 of 2 reports tell: packages 2.5 kJ, memory 250 J") != text.npos) ==
          (joules > 0));
  }
}

TEST_CASE("names that users choose cannot break a format") {
  const TempDir dir;
  MadeStep made{.program = "/bin/a\"b\\c\n# TYPE evil", .partition = "p=q"};
  made.node = "n 1,x=\"";
  write_made(dir, made);
  const SiteFiles files = files_of(dir);
  const SiteAccount account = account_of(steps_of(files.reports));
  const SiteView view{files, account, number_of, ""};
  const std::string prometheus = site_prometheus(view);
  CHECK(prometheus.find("program=\"a\\\"b\\\\c?# TYPE evil\"") != prometheus.npos);
  CHECK(prometheus.find("\n# TYPE evil") == prometheus.npos);
  const std::string influx = site_influx(view);
  CHECK(influx.find(",hostname=n\\ 1\\,x\\=\"") != influx.npos);
  CHECK(influx.find(",partition=p\\=q,") != influx.npos);
  CHECK(static_cast<std::size_t>(std::count(influx.begin(), influx.end(), '\n')) ==
        site_metrics().size());
}

TEST_CASE("a backslash in a tag of influx stands for itself and escapes no comma") {
  for (const auto& [program, tag] :
       {std::pair("a\\b", "a\\b"), {"a\\", "a?"}, {"a\\\\", "a\\?"}, {"a\\,b", "a\\\\,b"}}) {
    const TempDir dir;
    write_made(dir, {.program = program});
    const SiteFiles files = files_of(dir);
    const SiteAccount account = account_of(steps_of(files.reports));
    const std::string influx = site_influx({files, account, number_of, "c\\"});
    CAPTURE(influx);
    CHECK(influx.find(fmt::format(",program={},fate=", tag)) != influx.npos);
    CHECK(influx.find(",cluster=c?,hostname=") != influx.npos);
  }
}

TEST_CASE("tables show the programs with most to gain first, and say how many follow") {
  const TempDir dir;
  for (std::uint32_t job = 1; job <= 30; ++job)
    write_made(dir, {.job = job,
                     .program = fmt::format("app{:02}", job),
                     .kind = DecisionKind::kRemaps,
                     .saved = 0.01 * job});
  const SiteFiles files = files_of(dir);
  const SiteAccount account = account_of(steps_of(files.reports));
  const std::string text = site_text({files, account, number_of, "", 5});
  CHECK(text.find("app30") < text.find("app29"));
  CHECK(text.find("app26") != text.npos);
  CHECK(text.find("app25") == text.npos);
  CHECK(text.find("and 25 more") != text.npos);
  for (const std::string_view line : split(text, '\n')) CHECK(line.size() <= 110);
}

TEST_CASE("an empty directory gives an account without a step") {
  const TempDir dir;
  const SiteFiles files = files_of(dir);
  const SiteAccount account = account_of(steps_of(files.reports));
  const SiteView view{files, account, number_of, ""};
  CHECK(site_text(view) == "no report\n");
  CHECK(site_influx(view).empty());
  CHECK(nlohmann::json::parse(site_json(view))["total"]["steps"] == 0);
  CHECK(site_prometheus(view).ends_with("ondeloc_site_skipped_files 0\n"));
}

TEST_CASE("a long program name is cut between characters") {
  const TempDir dir;
  const std::string name = std::string(99, 'a') + "\u00e9";
  write_made(dir, {.program = "/bin/" + name});
  const SiteFiles files = files_of(dir);
  const SiteAccount account = account_of(steps_of(files.reports));
  const std::string prometheus = site_prometheus({files, account, number_of, ""});
  CHECK(prometheus.find("program=\"" + std::string(99, 'a') + "\"") != prometheus.npos);
}

TEST_CASE("the account writes many hours without an exponent") {
  const TempDir dir;
  write_made(dir, {});
  SiteFiles files = files_of(dir);
  files.reports.front().sums.seconds = 1.5e8 * 3600;
  const SiteAccount account = account_of(steps_of(files.reports));
  CHECK(site_text({files, account, number_of, ""}).find("150000000 h") != std::string::npos);
}

TEST_CASE("a saving of nearly all time is written in percent without an exponent") {
  const TempDir dir;
  write_made(dir, {.kind = DecisionKind::kRemaps, .saved = 9.98});
  const SiteFiles files = files_of(dir);
  const SiteAccount account = account_of(steps_of(files.reports));
  CHECK(site_text({files, account, number_of, ""}).find("of node time (100 %)") !=
        std::string::npos);
}

TEST_CASE("the account says what moves cost if they saved nothing") {
  const TempDir dir;
  write_made(dir, {.kind = DecisionKind::kRemaps, .saved = -2});
  const SiteFiles files = files_of(dir);
  const SiteAccount account = account_of(steps_of(files.reports));
  CHECK(site_text({files, account, number_of, ""})
            .find("predicted: moves cost 2 s of node time (20 %); 0 s more") != std::string::npos);
}

TEST_CASE("a report that claims a run of centuries does not outweigh the others") {
  const TempDir dir;
  Report report = report_of({.kind = DecisionKind::kRemaps, .cost = 9e299, .saved = 9e299});
  report.wall_ms = report.mapper_cpu_ms = 9e299;
  report.intervals[0].bytes = report.intervals[0].off_node_bytes = 9e299;
  write_text(dir.file("forged.json"), to_json(report));
  const SiteSums sums = account_of(steps_of(files_of(dir).reports)).totals.sums;
  constexpr double kYear = 366 * 24 * 3600;
  for (const double seconds : {sums.seconds, sums.mapper_cpu, sums.at_stake, sums.saved})
    CHECK(seconds == kYear);
  for (const double bytes : {sums.bytes, sums.off_node_bytes}) CHECK(bytes == 1e20);
}

TEST_CASE("a report claims no more saved or missed time than its run took") {
  const TempDir dir;
  write_made(dir, {.job = 1, .kind = DecisionKind::kRemaps, .saved = 1e290});
  write_made(dir, {.job = 2, .kind = DecisionKind::kUnpaid, .gain = 1e290});
  const auto steps = steps_of(files_of(dir).reports);
  const SiteSums sums = account_of(steps).totals.sums;
  CHECK(sums.saved == kMadeSeconds);
  CHECK(sums.missed == kMadeSeconds);
  const TempDir other;
  write_made(other, {.kind = DecisionKind::kRemaps, .saved = -1e290});
  CHECK(account_of(steps_of(files_of(other).reports)).totals.sums.saved == -kMadeSeconds);
}
