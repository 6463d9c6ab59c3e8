// SPDX-License-Identifier: Apache-2.0
// The mapper and the replay of its series decide alike.
#include <fmt/format.h>

#include <random>
#include <set>

#include "mapcore/decide/interval.h"
#include "mapcore/decide/replay.h"
#include "mapcore/mapper/mapping_round.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/step/waiting_ranks.h"

namespace same_decision_test {
using namespace ondeloc;

namespace {

constexpr int kRanks = 8;
constexpr std::uint32_t kFloorMs = 500;

// Ranks i and i ^ distance talk, and a little more i and i ^ other (0: they do not).
CommMatrix talks(int distance, int other, double bytes) {
  std::vector<MatrixEntry> entries;
  for (int i = 0; i < kRanks; ++i) {
    entries.push_back({i, i ^ distance, bytes, bytes > 0 ? 1.0 : 0.0});
    if (other > 0) entries.push_back({i, i ^ other, 1.02 * bytes, bytes > 0 ? 1.0 : 0.0});
  }
  return CommMatrix::from_entries(kRanks, std::move(entries));
}

std::vector<CommMatrix> random_series(unsigned seed) {
  std::mt19937 random(seed);
  std::vector<CommMatrix> series;
  while (series.size() < 60) {
    const int distance = std::array{1, 2, 4}[random() % 3];
    const double bytes = std::array{0.0, 1e5, 1e7, 2e7, 3e7, 5e7, 1e8}[random() % 7];
    const int other = seed % 3 == 0 ? distance == 4 ? 1 : 2 * distance : 0;
    for (unsigned i = 0; i <= random() % (1 + seed % 6); ++i)
      series.push_back(talks(distance, other, bytes));
  }
  return series;
}

std::vector<std::vector<std::uint64_t>> masks_of_ranks(bool oversubscribed) {
  std::vector<std::vector<std::uint64_t>> masks;
  for (int i = 0; i < kRanks; ++i) masks.push_back({1ULL << (oversubscribed ? i / 2 : i)});
  return masks;
}

void compare(const ReplayStep& step, const ReportInterval& line) {
  CHECK(line.decision == name_of(step.decision.kind));
  const DecisionKind kind = step.decision.kind;
  if (kind != DecisionKind::kCheap && kind != DecisionKind::kNearBest)  // no search by the mapper
    CHECK(line.gain == Approx(step.decision.gain).margin(1e-12));
  CHECK(line.threshold == Approx(step.decision.threshold).margin(1e-12));
  CHECK(line.migration == Approx(step.decision.migration).margin(1e-12));
  CHECK(line.horizon == Approx(step.decision.horizon).margin(1e-12));
  CHECK(line.ledger == Approx(step.decision.ledger).margin(1e-9));
}

// Feeds both the same series and compares every interval. Adds the decisions to `seen`.
void check_series(const std::vector<CommMatrix>& series, const std::string& keys,
                  bool oversubscribed, std::set<std::string>& seen) {
  const Machine machine = *load_machine("numa:4 core:2 pu:1");
  const WaitingRanks waiting(masks_of_ranks(oversubscribed));
  Ranks ranks(kRanks);
  ranks.refresh(waiting.view());
  auto placement = Placement::plan(machine, ranks, 1, Memory::kStay, false);
  REQUIRE(placement);
  const Options options = *parse_options("online" + keys);
  // Every third interval rank 1 sends to other nodes.
  std::vector<std::vector<double>> off_node(series.size(), std::vector<double>(kRanks));
  for (std::size_t t = 0; t < series.size(); t += 3) off_node[t][1] = 2e7;
  MappingRound round(options, machine, *placement, ranks);
  const SlotPlan plan = placement->slots();
  const CostModel model = CostModel::from(plan.machine);
  const Replay replay =
      *replay_series({plan.machine, plan.slots, model, plan.initial, &machine}, series,
                     {.seconds = 1e-3 * kFloorMs, .rule = options.decide}, off_node);
  IntervalController interval(kFloorMs, options.max_interval_ms, options.slope);
  std::vector<MatrixEntry> counted;
  std::vector<double> left(kRanks);
  int intervals = 0;
  for (std::size_t t = 0; t < series.size(); ++t) {
    INFO("interval " << t << ' ' << keys);
    counted.insert(counted.end(), series[t].entries.begin(), series[t].entries.end());
    for (int i = 0; i < kRanks; ++i) left[i] += off_node[t][i];
    ++intervals;
    const bool due = static_cast<std::uint32_t>(intervals) * kFloorMs >= interval.milliseconds();
    REQUIRE(due == replay.steps[t].looked());
    if (!due) continue;
    const CounterDelta delta{Traffic(CommMatrix::from_entries(kRanks, std::exchange(counted, {}))),
                             std::exchange(left, std::vector<double>(kRanks)), 0};
    const ReportInterval line = round.run(delta, 1e-3 * kFloorMs * std::exchange(intervals, 0));
    compare(replay.steps[t], line);
    seen.insert(line.decision);
    interval.step(round.next_look(), line.bytes + line.off_node_bytes > 0);
  }
  CHECK(placement->current() == replay.last);
}

}  // namespace

TEST_CASE("mapper and replay decide alike on every interval") {
  std::set<std::string> seen;
  for (unsigned seed = 1; seed <= 12; ++seed) {
    check_series(random_series(seed), "", false, seen);
    check_series(random_series(seed), ",decide=always", false, seen);
    check_series(random_series(seed), ",decide=many", false, seen);
    check_series(random_series(seed), "", true, seen);
  }
  for (const char* name :
       {"silent", "cheap", "keeps", "small", "fleeting", "unpaid", "remaps", "returns"}) {
    INFO(name);
    CHECK(seen.contains(name));
  }
}

}  // namespace same_decision_test
