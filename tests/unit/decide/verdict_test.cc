// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/verdict.h"

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

RunStep step(DecisionKind kind, double bytes, double cost, double gain = 0,
             std::vector<int> moved = {}) {
  RunStep one;
  one.bytes = bytes;
  one.cost = cost;
  one.remote_before = one.remote_after = 0.77;
  one.decision.kind = kind;
  one.decision.gain = gain;
  one.moved = std::move(moved);
  return one;
}

Run run_of(std::vector<RunStep> steps, double saved = 0) {
  Run run{std::move(steps), saved, false};
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    run.steps[i].begin = static_cast<double>(i);
    run.steps[i].end = static_cast<double>(i + 1);
  }
  return run;
}

}  // namespace

TEST_CASE("a run that moved ranks says how often, and what it gained") {
  Run run = run_of(
      {step(DecisionKind::kKeeps, 10, 0.2), step(DecisionKind::kRemaps, 10, 0.2, 0.1, {0, 1})},
      0.08);
  run.steps.back().remote_after = 0.23;
  CHECK(verdict(run) ==
        "moved ranks in 1 of 2 intervals; bytes between NUMA nodes 77 -> 23 %; predicted to save 4 "
        "% of the run (80 ms); messages take 20 % of the run (400 ms), predicted");
  // A program that changes its partners: neither the first interval nor the last tells the sum.
  run.crossing_at_start = 0.48;
  run.crossing_as_moved = 0.04;
  CHECK(verdict(run).find("bytes between NUMA nodes 48 -> 4 %") != std::string::npos);
  run.crossing_at_start = run.crossing_as_moved = std::nullopt;
  run.replayed = true;
  run.saved = -0.02;
  CHECK(
      verdict(run) ==
      "would have moved ranks in 1 of 2 intervals; bytes between NUMA nodes 77 -> 23 %; predicted "
      "to cost 1 % of the run (20 ms); messages take 20 % of the run (400 ms), predicted");
}

TEST_CASE("steps that stand for several intervals count as many") {
  Run run =
      run_of({step(DecisionKind::kKeeps, 10, 0.2), step(DecisionKind::kRemaps, 10, 0.2, 0, {0})});
  run.steps[0].count = 8;
  CHECK(verdict(run).starts_with("moved ranks in 1 of 9 intervals; "));
  run.steps[1].count = 4;
  run.remaps = 3;
  CHECK(verdict(run).starts_with("moved ranks in 3 of 12 intervals; "));
  run.remaps = 99;
  CHECK(remaps_of(run) == 12);
  run.steps[1].moved.clear();
  CHECK(remaps_of(run) == 0);

  Run stayed = run_of({step(DecisionKind::kFleeting, 10, 0.2), step(DecisionKind::kKeeps, 10, 0.2),
                       step(DecisionKind::kFleeting, 10, 0.2)});
  stayed.steps[1].count = 3;
  CHECK(verdict(stayed).starts_with("already as good as it gets: "));
}

TEST_CASE("a run that moved no rank says why") {
  CHECK(verdict(run_of({})) == "nothing to map: the ranks of this node sent each other nothing");
  Run silent = run_of({step(DecisionKind::kSilent, 0, 0)});
  silent.steps[0].off_node_bytes = 5e6;
  CHECK(verdict(silent) ==
        "nothing to map: the ranks of this node sent each other nothing; 5 MB went to other nodes");
  CHECK(verdict(run_of({step(DecisionKind::kKeeps, 9, 0.001)})) ==
        "nothing to gain: messages take 0.1 % of the run (1 ms), predicted");
  CHECK(verdict(run_of({step(DecisionKind::kKeeps, 9, 0.2)})) ==
        "already as good as it gets: no mapping that is clearly better was found; messages take 20 "
        "% of the run (200 ms), predicted");
  CHECK(verdict(run_of({step(DecisionKind::kSmall, 9, 0.2, 1e-5)}))
            .starts_with("already as good as it gets: "));
  CHECK(
      verdict(run_of(
          {step(DecisionKind::kSmall, 9, 0.2, 0.03), step(DecisionKind::kSmall, 9, 0.2, 0.03)})) ==
      "could have gained 3 % of the run (60 ms), predicted, but was not moved because the gain is "
      "below the threshold");
  CHECK(verdict(run_of({step(DecisionKind::kWaits, 9, 0.2)})) ==
        "nothing moved, because no decision was due before the run ended");
}

TEST_CASE("a run whose ranks were bound once does not say that they may not be moved") {
  Run run = run_of({step(DecisionKind::kFixed, 9, 0.2)});
  CHECK(verdict(run).starts_with("not moved because no rank may be moved"));
  run.bound_once = true;
  CHECK(verdict(run) ==
        "ranks were bound once, when the step started; messages take 20 % of the run (200 ms), "
        "predicted");
  run.steps.clear();
  run.bytes = 9;
  CHECK(verdict(run) == "ranks were bound once, when the step started");
  run.bytes = 0;
  CHECK(verdict(run) == "nothing to map: the ranks of this node sent each other nothing");
}

TEST_CASE("the reason for a gain that was missed is that of the largest part of it") {
  std::vector<RunStep> steps(5, step(DecisionKind::kKeeps, 9, 0.2));
  steps.resize(7, step(DecisionKind::kNoRoom, 9, 0.2, 0.3));
  CHECK(verdict(run_of(steps))
            .ends_with(", but was not moved because a NUMA node has no room for the memory that "
                       "would follow"));
  steps.resize(9, step(DecisionKind::kSmall, 9, 0.2, 0.05));
  CHECK(verdict(run_of(steps))
            .ends_with(", but was not moved, mostly because a NUMA node has no room for the memory "
                       "that would follow"));
  steps.resize(90, step(DecisionKind::kFleeting, 9, 0.2, -1));
  CHECK(verdict(run_of(steps)).find("mostly because a NUMA node") != std::string::npos);
}

TEST_CASE("a run that nothing was counted of does not say that its ranks sent nothing") {
  Run run = run_of({});
  run.attached = false;
  CHECK(outcome(run) == Outcome::kUncounted);
  CHECK(verdict(run) == "nothing was counted: no process called MPI_Init with ondeloc's library");
  run.left_alone = true;
  CHECK(verdict(run) ==
        "nothing was counted: ondeloc left the processes that called MPI_Init alone; the notes say "
        "why");
  run.off_node_bytes = 5e6;  // of processes from outside the tasks
  CHECK(verdict(run) ==
        "nothing to map: the ranks of this node sent each other nothing; 5 MB went to other nodes");
}

TEST_CASE("a run whose messages are in no interval ended before a decision was due") {
  Run run = run_of({});
  run.bytes = 8e6;
  CHECK(outcome(run) == Outcome::kShort);
  CHECK(verdict(run) == "nothing moved, because no decision was due before the run ended");
  run.steps = {step(DecisionKind::kSilent, 0, 0)};  // then the messages came
  CHECK(outcome(run) == Outcome::kShort);
}

TEST_CASE("a share of a hundred percent and more has no exponent") {
  CHECK(verdict(run_of({step(DecisionKind::kKeeps, 9, 0.997)})).find("take 100 % of the run") !=
        std::string::npos);
  CHECK(verdict(run_of({step(DecisionKind::kKeeps, 9, 123.4)})).find("take 12340 % of the run") !=
        std::string::npos);
}

TEST_CASE("a run that moved ranks in its only interval is told in the singular") {
  CHECK(verdict(run_of({step(DecisionKind::kRemaps, 10, 0.2, 0.1, {0})}, 0.08))
            .starts_with("moved ranks in 1 of 1 interval; "));
}

TEST_CASE("a second run is told by its gain, the mapping that brings it, and its numbers") {
  Prospect prospect{2.0, 100,  0,    "packed", "coordinated:30",
                    0.4, 0.32, 0.77, 0.23,     "the cost model's defaults"};
  CHECK(verdict(prospect) ==
        "a run with coordinated:30 could gain 4 % of the run (80 ms) against packed; bytes between "
        "NUMA nodes 77 -> 23 %; predicted from its messages and the cost model's defaults");
  prospect.run_seconds = 0;
  prospect.off_node_bytes = 5e6;
  CHECK(verdict(prospect) ==
        "a run with coordinated:30 could gain 80 ms of the 400 ms that messages take against "
        "packed; bytes between NUMA nodes 77 -> 23 %; predicted from its messages and the cost "
        "model's defaults; 5 MB went to other nodes");
  prospect.off_node_bytes = 0;
  prospect.least = 0.4;
  CHECK(verdict(prospect) ==
        "already as good as it gets: no mapping that is clearly better than packed was found; "
        "messages take 400 ms, predicted from its messages and the cost model's defaults");
  prospect.run_seconds = 400;
  CHECK(verdict(prospect) ==
        "nothing to gain: messages take 0.1 % of the run (400 ms), predicted from its messages and "
        "the cost model's defaults");
  prospect.bytes = 0;
  CHECK(verdict(prospect) == "nothing to map: the ranks of this node sent each other nothing");
}

TEST_CASE("every decision that moves no rank fails at exactly one rule, and has its name back") {
  for (const DecisionInfo& info : decisions()) {
    int failed = 0;
    for (const Rule& rule : rules())
      failed += static_cast<int>(std::count(rule.failed.begin(), rule.failed.end(), info.kind));
    const bool moves = info.kind == DecisionKind::kRemaps || info.kind == DecisionKind::kReturns ||
                       info.kind == DecisionKind::kSlower || info.kind == DecisionKind::kRepeats ||
                       info.kind == DecisionKind::kFollows || info.kind == DecisionKind::kBrings;
    CAPTURE(info.name);
    CHECK(failed == (moves ? 0 : 1));
    CHECK(decision_of(info.name) == info.kind);
  }
  CHECK_FALSE(decision_of("bogus"));
}
