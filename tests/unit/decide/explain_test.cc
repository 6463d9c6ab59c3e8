// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/explain.h"

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

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("a remap is explained with its numbers, and passes every rule") {
  RunStep step = step_of(DecisionKind::kRemaps);
  step.moved = {4, 7};
  const std::string text = interval_text(step, 2);
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
  CHECK(count(text, " yes\n") == rules().size());
  CHECK(count(text, " no\n") == 0);
}

TEST_CASE("an interval whose messages take all its time is explained without an exponent") {
  RunStep step = step_of(DecisionKind::kRemaps);
  step.cost = 0.4985;
  step.decision.gain = -0.623;
  const std::string text = interval_text(step, 2);
  CHECK(text.find("498.5 ms (100 %)") != text.npos);
  CHECK(text.find("-623 ms (-125 %)") != text.npos);
}

TEST_CASE("a decision to stay names the one rule that failed, and asks no later rule") {
  for (const DecisionInfo& info : decisions()) {
    const std::string text = interval_text(step_of(info.kind), 0);
    CAPTURE(text);
    CHECK(text.find(std::string(": ") + info.name + "; " + info.meaning + "\nno rank moved\n") !=
          text.npos);
    const bool moves = info.kind == DecisionKind::kRemaps || info.kind == DecisionKind::kReturns ||
                       info.kind == DecisionKind::kSlower;
    const bool asks = info.kind != DecisionKind::kFollows && info.kind != DecisionKind::kRepeats &&
                      info.kind != DecisionKind::kBrings;
    CHECK(count(text, "\nrules\n") == (asks ? 1 : 0));
    CHECK(count(text, " no\n") == (asks && !moves ? 1 : 0));
    CHECK(count(text, "later rules were not asked") == count(text, " no\n"));
  }
}
