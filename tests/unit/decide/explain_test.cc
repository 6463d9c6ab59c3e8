// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/explain.h"

#include <algorithm>
#include <string>

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

RunStep step_of(DecisionKind kind) {
  RunStep step;
  step.begin = 1;
  step.end = 1.5;
  step.looked_seconds = 0.5;
  step.bytes = 3e9;
  step.remote_before = 0.77;
  step.cost = 0.05;
  step.decision = {kind, 0.02, 0.001, 0.004, 1.5, -0.03};
  return step;
}

Run run_with(const RunStep& step, Decide decide = Decide::kAuto) {
  Run run;
  run.steps = {step, step, step};
  run.decide = decide;
  return run;
}

std::size_t rules_asked(const Run& run) {
  const auto asked = [&](const Rule& rule) { return rule.is_asked(run); };
  return static_cast<std::size_t>(std::count_if(rules().begin(), rules().end(), asked));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string line_of(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  if (at == text.npos) return "";
  return text.substr(at, text.find('\n', at) - at);
}

}  // namespace

TEST_CASE("a remap is explained with its numbers, and passes every rule that is asked") {
  RunStep step = step_of(DecisionKind::kRemaps);
  step.moved = {4, 7};
  const std::string text = interval_text(run_with(step), 2);
  CHECK(
      text.starts_with("interval 2, 1 s to 1.5 s: remaps; ranks move\n"
                       "moved 2 ranks: 4, 7\n"
                       "numbers (times are predicted, of the interval's messages)\n"
                       "  sent on the node             3 GB, 77 % between NUMA nodes\n"
                       "  cost of these messages       50 ms (10 %)\n"
                       "  gain of the new mapping      20 ms (4 %)\n"
                       "  gain has to exceed           1 ms\n"
                       "  price of moving              4 ms\n"
                       "  time in which it has to pay  1.5 s\n"
                       "  lost so far by moving        -30 ms, that is saved\n"
                       "rules\n"));
  CHECK(count(text, " yes\n") == rules().size() - 1);
  CHECK(count(text, " no\n") == 0);
  CHECK(line_of(text, "decide=many)?").ends_with(" not asked"));
}

TEST_CASE("a decision on several intervals says that its gain is of their messages") {
  RunStep step = step_of(DecisionKind::kRemaps);
  step.looked_seconds = 2;
  const std::string text = interval_text(run_with(step), 2);
  CHECK(text.find("the cost of the interval's messages, the gain of\nthose of the last 2 s)\n") !=
        text.npos);
  CHECK(text.find("gain of the new mapping      20 ms (1 %)") != text.npos);
}

TEST_CASE("a rule that decide= leaves out is not answered") {
  RunStep step = step_of(DecisionKind::kRemaps);
  step.decision.gain = -0.05;
  for (const Decide decide : {Decide::kAlways, Decide::kMany}) {
    const Run run = run_with(step, decide);
    const std::string text = interval_text(run, 0);
    CAPTURE(text);
    CHECK(line_of(text, "better than the mapping in force?").ends_with(" not asked"));
    CHECK(line_of(text, "migration included?").ends_with(" not asked"));
    CHECK(line_of(text, "have earlier moves paid off?").ends_with(" not asked"));
    CHECK(line_of(text, "find a mapping?").ends_with(" yes"));
    CHECK(line_of(text, "decide=many)?").ends_with(decide == Decide::kMany ? " yes" : "not asked"));
    CHECK(count(text, " yes\n") == rules_asked(run));
    CHECK(text.find("gain has to exceed") == text.npos);
    CHECK(text.find("gain of the new mapping      -50 ms") != text.npos);
  }
  const std::string same =
      interval_text(run_with(step_of(DecisionKind::kKeeps), Decide::kAlways), 0);
  CHECK(line_of(same, "better than the mapping in force?").ends_with(" no"));
  Run replay = run_with(step_of(DecisionKind::kRemaps));
  CHECK(line_of(interval_text(replay, 0), "pace without moves known?").ends_with(" yes"));
  replay.replayed = true;
  CHECK(line_of(interval_text(replay, 0), "pace without moves known?").ends_with(" not asked"));
}

TEST_CASE("a move back is decided before the rules, and says so") {
  const std::string returns = interval_text(run_with(step_of(DecisionKind::kReturns)), 0);
  CHECK(returns.find("gain of moving back          20 ms") != returns.npos);
  CHECK(returns.find("gain has to exceed") == returns.npos);  // the loss decides
  const std::string slower = interval_text(run_with(step_of(DecisionKind::kSlower)), 0);
  CHECK(slower.find("gain has to exceed           1 ms") != slower.npos);
  for (const std::string& text : {returns, slower})
    CHECK(text.ends_with("rules\n  not asked: a move back is decided before them\n"));
}

TEST_CASE("a line of a long run says how many intervals it stands for") {
  RunStep step = step_of(DecisionKind::kKeeps);
  step.count = 4;
  CHECK(interval_text(run_with(step), 2)
            .starts_with("interval 2, 1 s to 1.5 s (4 intervals put together): keeps; "));
}

TEST_CASE("an interval whose messages take all its time is explained without an exponent") {
  RunStep step = step_of(DecisionKind::kRemaps);
  step.cost = 0.4985;
  step.decision.gain = -0.623;
  const std::string text = interval_text(run_with(step), 2);
  CHECK(text.find("498.5 ms (100 %)") != text.npos);
  CHECK(text.find("-623 ms (-125 %)") != text.npos);
}

TEST_CASE("a decision to stay names the one rule that failed, and asks no later rule") {
  for (const DecisionInfo& info : decisions()) {
    const std::string text = interval_text(run_with(step_of(info.kind)), 0);
    CAPTURE(text);
    CHECK(text.find(std::string(": ") + info.name + "; " + info.meaning + "\nno rank moved\n") !=
          text.npos);
    const bool stays = std::any_of(rules().begin(), rules().end(), [&](const Rule& rule) {
      return std::count(rule.failed.begin(), rule.failed.end(), info.kind) > 0;
    });
    const bool asks = stays || info.kind == DecisionKind::kRemaps;
    CHECK(count(text, "\nrules\n") == 1);
    CHECK(count(text, "\n  not asked: ") == (asks ? 0 : 1));
    CHECK(count(text, " no\n") == (stays ? 1 : 0));
    CHECK(count(text, "later rules were not asked") == count(text, " no\n"));
  }
}
