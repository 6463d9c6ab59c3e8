// SPDX-License-Identifier: Apache-2.0
#include "mapcore/page/page.h"

#include "mapcore/step/origin.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

ReportRun small_run() {
  ReportRun run;
  run.node = "node1";
  run.numa = {{0, "0-1", 0}, {1, "2-3", 0}};
  run.ranks = {{0, "0", "0", 0}, {1, "2", "1", 1}};
  run.matrix = {{0, 1, 1e6, 10}};
  run.run.steps.resize(2);
  run.run.steps[1].end = 1;
  return run;
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

}  // namespace

TEST_CASE("a page is one file that names no address") {
  const auto page = to_page({small_run()});
  REQUIRE(page.ok());
  CHECK(page->starts_with("<!DOCTYPE html>"));
  CHECK(count_of(*page, "{{") == 0);
  CHECK(count_of(*page, "http") ==
        count_of(*page, "http-equiv") + count_of(*page, "http://www.w3.org/2000/svg"));
  CHECK(count_of(*page, "default-src 'none'") == 1);
}

TEST_CASE("texts of a run cannot end the script or become markup") {
  ReportRun run = small_run();
  const std::string hostile = "</script><b>{{data}}\xff";
  run.node = run.program = run.algorithm = hostile;
  run.notes = {hostile};
  run.origin = {{hostile, hostile}};
  const auto page = to_page({run});
  REQUIRE(page.ok());
  CHECK(count_of(*page, "</script>") == 2);
  CHECK(count_of(*page, "<b>") == 0);
}

TEST_CASE("the buttons of a page name the step where the steps differ") {
  ReportRun first = small_run(), second = small_run();
  first.job = second.job = 7;
  second.node = "node2";
  const auto one_step = to_page({first, second});
  REQUIRE(one_step.ok());
  CHECK(count_of(*one_step, R"(aria-label="Nodes of the step")") == 1);
  CHECK(count_of(*one_step, R"("tab":"node1")") == 1);
  CHECK(count_of(*one_step, R"("tab":"node2")") == 1);
  ReportRun next = first, again = first, replayed = small_run();
  next.step = 1;
  again.restarts = 2;
  for (const ReportRun& other : {next, again, replayed}) {
    const auto page = to_page({first, other});
    REQUIRE(page.ok());
    CHECK(count_of(*page, R"(aria-label="Steps and their nodes")") == 1);
    CHECK(count_of(*page, R"("tab":"7.0 node1")") == 1);
  }
  CHECK(count_of(*to_page({first, next}), R"("tab":"7.1 node1")") == 1);
  CHECK(count_of(*to_page({first, again}), R"("tab":"7.0 node1, restart 2")") == 1);
  CHECK(count_of(*to_page({first, again}), R"("title":"job 7 step 0 on node1, restart 2")") == 1);
  CHECK(count_of(*to_page({first, replayed}), R"("tab":"node1")") == 1);
}

TEST_CASE("a page has a limit and needs a run") {
  ReportRun run = small_run();
  run.ranks.resize(kMostPageRanks + 1);
  CHECK_FALSE(to_page({run}).ok());
  CHECK_FALSE(to_page({}).ok());
}

TEST_CASE("a command line is written as a shell reads it") {
  using namespace std::string_literals;
  CHECK(command_text("-in\0in.lj\0two words\0it's\0\0"s) == "-in in.lj 'two words' 'it'\\''s' ''");
  CHECK(command_text("") == "");
  const std::string long_line = command_text(std::string(5000, 'x'));
  CHECK(long_line.size() < 2010);
  CHECK(long_line.ends_with(" ..."));
}
