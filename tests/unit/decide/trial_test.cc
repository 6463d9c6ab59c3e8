// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/trial.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "mapcore/decide/decider.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

constexpr std::array kNoise{0.004, -0.003, 0.001, -0.005, 0.003, 0.002, -0.002};

// `looks` intervals of one second with this mean pace, and half a percent of noise.
void run(Trial& trial, int looks, double pace) {
  for (int i = 0; i < looks; ++i)
    trial.add({pace * (1 + kNoise[static_cast<std::size_t>(i) % kNoise.size()]), 1});
}

Trial moved_after(int looks, double pace) {
  Trial trial;
  trial.add({pace, 1, true});  // the first interval of a phase does not count
  run(trial, looks, pace);
  trial.moved(0.02);
  return trial;
}

}  // namespace

TEST_CASE("a pace that falls by more than 1 % and the noise is a loss") {
  for (const auto& [after, is_loss] :
       {std::pair(1.02, false), {1.0, false}, {0.993, false}, {0.97, true}, {0.5, true}}) {
    Trial trial = moved_after(4, 1e9);
    run(trial, 1 + 6, after * 1e9);  // the first one has the moves
    CAPTURE(after);
    CHECK(trial.loss().has_value() == is_loss);
    if (is_loss) CHECK(*trial.loss() == Approx(1 - after).epsilon(0.1));
  }
}

TEST_CASE("nothing is judged without a pace before the moves, or too soon after them") {
  Trial early = moved_after(1, 100);
  CHECK_FALSE(early.is_on());
  run(early, 9, 50);
  CHECK_FALSE(early.loss());
  Trial late = moved_after(2, 100);
  CHECK(late.is_on());
  run(late, 1 + 2, 50);
  CHECK_FALSE(late.loss());
  run(late, 1, 50);
  CHECK(late.loss());
}

TEST_CASE("few intervals have to show a larger fall than many") {
  Trial trial = moved_after(2, 100);
  run(trial, 1 + 3, 98.5);
  CHECK_FALSE(trial.loss());
  run(trial, 3, 98.5);
  CHECK(trial.loss());
}

TEST_CASE("a short interval tells less than a long one") {
  for (const auto& [length, is_loss] : {std::pair(8.0, true), {0.1, false}}) {
    Trial trial;
    trial.add({100, 1, true});
    for (int i = 0; i < 6; ++i) trial.add({800.0 + (i % 2 == 0 ? 4 : -4), 8});
    trial.moved(0.02);
    for (int i = 0; i < 4; ++i) trial.add({97 * length, length});
    CAPTURE(length);
    CHECK(trial.loss().has_value() == is_loss);
  }
}

TEST_CASE("an uneven program is not judged by chance") {
  Trial trial;
  trial.add({1, 1, true});
  for (const double pace : {100, 60, 140, 80}) trial.add({pace, 1});
  trial.moved(0.02);
  for (const double pace : {1, 90, 50, 130, 70, 95}) trial.add({pace, 1});
  CHECK_FALSE(trial.loss());
}

TEST_CASE("intervals in which the mapper takes more CPU time than usual do not count") {
  for (const bool is_told : {true, false}) {
    const double search = is_told ? 0.1 : 0;
    Trial trial;
    trial.add({100, 1, true, 0.001});
    for (const double pace : {100.0, 90.0, 100.2})
      trial.add({pace, 1, false, pace == 90 ? search : 0.002});
    trial.moved(0.02);
    for (const double pace : {60.0, 96.0, 80.0, 96.1, 96.0})
      trial.add({pace, 1, false, pace == 80 ? search : 0.002});
    CAPTURE(is_told);
    CHECK(trial.loss().has_value() == is_told);
  }
}

TEST_CASE("a mapper that always takes as much CPU time disturbs no interval more than another") {
  Trial trial;
  for (int i = 0; i < 4; ++i) trial.add({100.0 + i % 2, 1, i == 0, 0.3});
  CHECK(trial.knows_pace());
}

TEST_CASE("a new phase ends a trial without a judgement") {
  Trial trial = moved_after(3, 100);
  trial.add({50, 1, true});
  run(trial, 8, 50);
  CHECK_FALSE(trial.is_on());
  CHECK_FALSE(trial.loss());
  CHECK_FALSE(trial.has_passed());
}

TEST_CASE("moves during a trial are judged together with those before them") {
  Trial trial = moved_after(3, 100);
  run(trial, 3, 99);
  trial.moved(0.03);
  run(trial, 6, 90);
  CHECK(trial.loss());
  trial.moved_back();
  CHECK_FALSE(trial.is_on());
  CHECK(trial.broken_promise() == Approx(0.05));
}

TEST_CASE("moves fall short if half of their promise is not seen") {
  for (const auto& [after, missed] :
       {std::pair(1.2, 0.0), {1.13, 0.0}, {1.04, 0.168}, {1.0, 0.2}, {0.9, 0.28}}) {
    Trial trial;
    trial.add({100, 1, true});
    run(trial, 3, 100);
    trial.moved(0.2);
    run(trial, 1 + 3, after * 100);
    CAPTURE(after);
    CHECK(trial.shortfall().value_or(0) == Approx(missed).margin(0.01));
  }
}

TEST_CASE("a promise of more than the whole time is judged as a large one") {
  Trial trial = moved_after(3, 100);
  trial.moved(3);
  run(trial, 1 + 3, 100);
  CHECK(*trial.shortfall() == Approx(0.9).margin(0.02));
}

TEST_CASE("once memory was brought, the moves are tried anew against the pace before them") {
  Trial trial = moved_after(3, 100);
  run(trial, 1 + 3, 90);
  REQUIRE(trial.shortfall());
  trial.brought();
  CHECK(trial.is_on());
  run(trial, 1 + 2, 110);
  CHECK_FALSE(trial.shortfall());
  run(trial, 3, 110);
  CHECK_FALSE(trial.shortfall());
  CHECK_FALSE(trial.loss());
}

TEST_CASE("a trial passes after twelve intervals") {
  Trial trial = moved_after(3, 100);
  run(trial, 1 + 12, 100);
  CHECK(trial.is_on());
  run(trial, 1, 100);
  CHECK_FALSE(trial.is_on());
  CHECK(trial.has_passed());
}

TEST_CASE("after the trial each twelve intervals are compared with the pace before the moves") {
  Trial trial = moved_after(3, 100);
  run(trial, 1 + 12, 102);
  run(trial, 12, 95);
  CHECK_FALSE(trial.shortfall());
  run(trial, 1, 102);
  REQUIRE(trial.shortfall());
  CHECK(*trial.shortfall() == Approx(1 - 0.98 * 0.95).margin(0.01));
  CHECK_FALSE(trial.loss());
  run(trial, 12, 102);
  CHECK_FALSE(trial.shortfall());
  run(trial, 12, 95);
  CHECK(trial.shortfall());
}

TEST_CASE("after the trial an uneven program has to show that it is faster") {
  for (const double after : {0.9, 1.0, 1.15, 1.3}) {
    Trial trial;
    trial.add({1, 1, true});
    for (const double pace : {100, 60, 140}) trial.add({pace, 1});
    trial.moved(0.2);
    trial.add({1, 1});
    for (int i = 0; i < 12; ++i) trial.add({after * (i % 2 == 0 ? 70 : 130), 1});
    CAPTURE(after);
    CHECK_FALSE(trial.shortfall());
    trial.add({100, 1});
    CHECK(trial.has_passed());
    CHECK(trial.shortfall().value_or(0) == Approx(std::max(0.0, 1 - 0.8 * after)));
  }
}

TEST_CASE("in a new phase all of a promise is missed until memory was brought or ranks moved") {
  for (const bool is_judged : {true, false}) {
    Trial trial = moved_after(3, 100);
    run(trial, is_judged ? 1 + 3 : 1 + 2, 110);
    trial.add({100, 1, true});
    run(trial, 1, 100);
    CHECK(trial.shortfall().has_value() == !is_judged);
    run(trial, 1, 100);
    CHECK(trial.shortfall() == 0.02);
    CHECK(trial.is_shortfall_assumed());
    CHECK(trial.had_no_result() == !is_judged);
    CHECK(trial.is_unjudged() == !is_judged);
    if (is_judged) trial.moved(0.03);
    trial.brought();
    run(trial, 3, 100);
    CHECK_FALSE(trial.shortfall());
  }
}

TEST_CASE("a trial that ends because ranks moved for another reason misses nothing") {
  Trial trial = moved_after(3, 100);
  trial.forget();
  CHECK_FALSE(trial.had_no_result());
  trial.add({100, 1, true});
  run(trial, 2, 100);
  CHECK_FALSE(trial.shortfall());
}

TEST_CASE("moves without a known pace are not missed as moves that were judged") {
  Trial trial;
  trial.moved(0.1);
  run(trial, 3, 100);
  CHECK_FALSE(trial.shortfall());
  trial.add({100, 1, true});
  run(trial, 2, 100);
  CHECK(trial.shortfall() == 0.1);
  CHECK(trial.is_unjudged());
  CHECK_FALSE(trial.had_no_result());
}

TEST_CASE("moves after a trial are compared with the pace since the trial began") {
  Trial trial = moved_after(3, 100);
  run(trial, 1 + 13, 120);
  trial.moved(0.02);
  CHECK(trial.is_on());
  run(trial, 1 + 4, 110);
  CHECK(trial.loss());
}

namespace {

// A program whose ranks send at another pace under the mapping that the model prefers.
struct Program {
  double pace_there = 1;  // of the pace at the start
  double pace_far = 0;    // the same while the memory is not there; 0: memory is not left behind
  double price_memory = 0.1;  // seconds
  bool is_memory_there = false, memory_follows = false, has_room = true;
  double cost_here = 0.1, cost_there = 0.07;
  bool is_there = false;
  double sent = 0;
  std::vector<DecisionKind> kinds{};

  void step(Decider& decider) {
    const bool is_far = pace_far > 0 && !is_memory_there;
    const double pace = !is_there ? 1 : is_far ? pace_far : pace_there;
    sent += pace;
    const Traffic traffic(CommMatrix::from_entries(2, {{0, 1, 1e6 * pace, 1}}));
    const double now = pace * (is_there ? cost_there : cost_here);
    if (decider.observe({traffic, 1, now, pace * cost_here, false, traffic.total()})) return;
    const auto price = [this] { return 0.01 + (memory_follows ? price_memory : 0); };
    const Candidate away{pace * cost_there, !is_there, false, price, {}};
    const Candidate home{pace * cost_here, is_there, false, price, {}};
    const Candidate bringing{pace * cost_here, is_there && is_far, false,
                             [this] { return price_memory; }, [this] { return has_room; }};
    const Decision decision = decider.decide(away, home, home, bringing);
    kinds.push_back(decision.kind);
    if (decision.kind == DecisionKind::kRemaps) is_there = true, is_memory_there = memory_follows;
    if (decision.kind == DecisionKind::kBrings) is_memory_there = memory_follows = true;
    if (decision.kind == DecisionKind::kSlower) memory_follows = memory_follows || pace_far > 0;
    if (decision.kind == DecisionKind::kSlower) is_there = false;
  }
  long count(DecisionKind kind) const { return std::count(kinds.begin(), kinds.end(), kind); }
};

}  // namespace

TEST_CASE("ranks move back if the program is slower where the model sees a gain, and stay there") {
  Program program{.pace_there = 0.97};
  Decider decider({.tries = true});
  for (int i = 0; i < 100; ++i) program.step(decider);
  CHECK(program.count(DecisionKind::kEarly) == 2);
  CHECK(program.count(DecisionKind::kRemaps) == 1);
  CHECK(program.count(DecisionKind::kSlower) == 1);
  CHECK_FALSE(program.is_there);
  CHECK(program.sent > 0.998 * 100);
}

TEST_CASE("ranks stay where the program is faster") {
  Program program{.pace_there = 1.05};
  Decider decider({.tries = true});
  for (int i = 0; i < 100; ++i) program.step(decider);
  CHECK(program.is_there);
  CHECK(program.count(DecisionKind::kRemaps) == 1);
  CHECK(program.count(DecisionKind::kSlower) == 0);
}

TEST_CASE("memory is brought if the program does not become as fast as promised without it") {
  for (const double pace_far : {0.8, 1.0, 1.01}) {
    Program program{.pace_there = 1.04, .pace_far = pace_far};
    Decider decider({.tries = true});
    for (int i = 0; i < 30; ++i) program.step(decider);
    CAPTURE(pace_far);
    CHECK(program.count(DecisionKind::kRemaps) == 1);
    CHECK(program.count(DecisionKind::kBrings) == 1);
    CHECK(program.count(DecisionKind::kSlower) == 0);
    CHECK(program.is_there);
  }
}

TEST_CASE("memory stays where the program becomes faster without it") {
  Program program{.pace_there = 1.04, .pace_far = 1.03};
  Decider decider({.tries = true});
  for (int i = 0; i < 30; ++i) program.step(decider);
  CHECK(program.is_there);
  CHECK(program.count(DecisionKind::kBrings) == 0);
}

TEST_CASE("memory that was left behind comes in a silence of twenty times its price") {
  Program program{.pace_there = 1.04, .pace_far = 1.03};
  Decider decider({.tries = true});
  for (int i = 0; i < 10; ++i) program.step(decider);
  REQUIRE(program.is_there);
  const Traffic silence(CommMatrix::from_entries(2, {}));
  bool has_room = false;
  const Candidate memory{0, true, false, [] { return 0.32; }, [&] { return has_room; }};
  const auto is_brought_after = [&](int silent) {
    for (int i = 0; i < silent; ++i)
      REQUIRE(decider.observe({silence, 1, 0, 0})->kind == DecisionKind::kSilent);
    return decider.bring_in_silence(memory).has_value();
  };
  CHECK_FALSE(is_brought_after(6));  // 6.4 s are needed
  CHECK_FALSE(is_brought_after(1));
  has_room = true;
  CHECK(is_brought_after(0));
  program.step(decider);  // the next silence begins anew
  CHECK_FALSE(is_brought_after(6));
  CHECK_FALSE(decider.bring_in_silence({}));
}

TEST_CASE("ranks move back if the program is slower with its memory too, or if memory costs more") {
  for (const double price : {0.1, 100.0}) {  // seconds
    Program program{.pace_there = 0.97, .pace_far = 0.9, .price_memory = price};
    Decider decider({.tries = true});
    for (int i = 0; i < 30; ++i) program.step(decider);
    CAPTURE(price);
    CHECK(program.count(DecisionKind::kBrings) == (price < 1 ? 1 : 0));
    CHECK(program.count(DecisionKind::kSlower) == 1);
    CHECK_FALSE(program.is_there);
  }
}

TEST_CASE("ranks that moved back from their memory move again with it once that pays") {
  Program program{.pace_there = 1.04, .pace_far = 0.9, .price_memory = 3};
  Decider decider({.tries = true});
  for (int i = 0; i < 90; ++i) program.step(decider);
  CHECK(program.count(DecisionKind::kSlower) == 1);
  CHECK(program.count(DecisionKind::kRemaps) == 1);
  for (int i = 0; i < 50; ++i) program.step(decider);
  CHECK(program.count(DecisionKind::kRemaps) == 2);
  CHECK(program.count(DecisionKind::kBrings) == 0);
  CHECK(program.is_there);
}

TEST_CASE("memory that costs too much during the trial is brought later in the phase") {
  Program program{.pace_there = 1.04, .pace_far = 1, .price_memory = 0.6};
  Decider decider({.tries = true});
  for (int i = 0; i < 15; ++i) program.step(decider);
  CHECK(program.count(DecisionKind::kBrings) == 0);
  for (int i = 0; i < 25; ++i) program.step(decider);
  CHECK(program.count(DecisionKind::kBrings) == 1);
  CHECK(program.is_there);
}

TEST_CASE("memory is brought if the program becomes slow without it after the trial") {
  Program program{.pace_there = 1.04, .pace_far = 1.03};
  Decider decider({.tries = true});
  for (int i = 0; i < 20; ++i) program.step(decider);
  CHECK(program.count(DecisionKind::kBrings) == 0);
  program.pace_far = 0.95;
  for (int i = 0; i < 26; ++i) program.step(decider);
  CHECK(program.count(DecisionKind::kBrings) == 1);
  CHECK(program.count(DecisionKind::kSlower) == 0);
  CHECK(program.is_there);
}

TEST_CASE("ranks leave memory behind only if their moves will be judged") {
  Decider decider({.tries = true});
  bool is_there = false;
  const auto step = [&](int peer) {
    const Traffic traffic(CommMatrix::from_entries(3, {{0, peer, 1e6, 1}}));
    REQUIRE(!decider.observe({traffic, 1, 0.1, 0.1, false, 1e6}));
    const bool judges = decider.judges_moves();
    const Candidate away{0.05, !is_there, false, [] { return 0.001; }, {}};
    is_there = decider.decide(away, {}).moves() || is_there;
    return judges;
  };
  CHECK_FALSE(step(1));
  CHECK_FALSE(step(1));
  CHECK(step(1));
  CHECK(is_there);
  CHECK(step(1));
  CHECK_FALSE(step(2));  // before the moves were judged
  for (int i = 0; i < 9; ++i) CHECK_FALSE(step(2));
}

TEST_CASE("ranks move back to memory that has no room where they are") {
  Program program{.pace_there = 1.04, .pace_far = 0.9, .has_room = false};
  Decider decider({.tries = true});
  for (int i = 0; i < 12; ++i) program.step(decider);
  CHECK(program.count(DecisionKind::kBrings) == 0);
  CHECK(program.count(DecisionKind::kSlower) == 1);
}

TEST_CASE("memory of moves that no phase judged pays over all phases since then") {
  Decider decider({.tries = true});
  bool is_there = false;
  int brought_at = 0;
  for (int i = 0; i < 60 && brought_at == 0; ++i) {
    // Three intervals of one pattern, then two of each of two others in turn.
    const int peer = i < 3 ? 1 : 2 + (i / 2) % 2;
    const Traffic traffic(CommMatrix::from_entries(4, {{0, peer, 1e6, 1}}));
    REQUIRE(!decider.observe({traffic, 1, is_there ? 0.05 : 0.1, 0.1, false, 1e6}));
    const Candidate away{0.05, !is_there, false, [] { return 0.001; }, {}};
    const Candidate bringing{0.1, is_there, false, [] { return 1.0; }, {}};
    const Decision decision = decider.decide(away, {}, {}, bringing);
    is_there = is_there || decision.moves();
    if (decision.kind == DecisionKind::kBrings) brought_at = i;
  }
  // A price of 1 s, and 5 % of gain: 20 s after the moves in the third interval.
  CHECK(brought_at > 20);
  CHECK(brought_at < 26);
}

TEST_CASE("the ledger counts the price of memory that is brought") {
  Program program{.pace_there = 1, .pace_far = 1, .price_memory = 0.07};
  Decider decider({.tries = true});
  double before = 0;
  while (program.count(DecisionKind::kBrings) == 0) {
    before = decider.undecided(DecisionKind::kKeeps).ledger;
    program.step(decider);
  }
  const double saved = program.cost_here - program.cost_there;
  CHECK(decider.undecided(DecisionKind::kKeeps).ledger == Approx(before - saved + 0.07));
}

TEST_CASE("moves wait for the pace in six intervals at most") {
  Decider decider({.tries = true});
  std::vector<DecisionKind> kinds;
  for (int i = 0; i < 8; ++i) {  // the partners change after every second interval
    const int peer = 1 + (i / 2) % 2;
    const Traffic traffic(CommMatrix::from_entries(3, {{0, peer, 1e6, 1}}));
    REQUIRE(!decider.observe({traffic, 1, 0.1, 0.1, false, 1e6}));
    kinds.push_back(decider.decide({0.05, true, false, [] { return 0.001; }, {}}, {}).kind);
  }
  for (int i = 0; i < 6; ++i) CHECK(kinds[i] == DecisionKind::kEarly);
  CHECK(kinds[7] == DecisionKind::kRemaps);
}

namespace {

// The decisions of a program that gains by moves once in each phase. `lengths`: of the phases, in
// intervals.
std::vector<DecisionKind> kinds_in_phases(std::span<const int> lengths, bool wants_pace) {
  Decider decider({.tries = true});
  std::vector<DecisionKind> kinds;
  int peer = 1;
  for (const int length : lengths) {
    const Traffic traffic(CommMatrix::from_entries(3, {{0, peer, 1e6, 1}}));
    peer = 3 - peer;
    bool is_there = false;
    for (int i = 0; i < length; ++i) {
      REQUIRE(!decider.observe({traffic, 1, 0.1, 0.1, false, 1e6, 0, wants_pace}));
      const Candidate wanted{0.05, !is_there, false, [] { return 0.001; }, {}};
      kinds.push_back(decider.decide(wanted, {}).kind);
      is_there = is_there || kinds.back() == DecisionKind::kRemaps;
    }
  }
  return kinds;
}

}  // namespace

TEST_CASE("moves wait in each phase where only those that are judged leave memory behind") {
  const std::array lengths{12, 12};
  for (const bool waits : {false, true}) {
    const auto kinds = kinds_in_phases(lengths, waits);
    CAPTURE(waits);
    CHECK(std::count(kinds.begin() + 12, kinds.end(), DecisionKind::kEarly) == (waits ? 2 : 0));
    CHECK(kinds[waits ? 14 : 12] == DecisionKind::kRemaps);
  }
}

TEST_CASE("the waits end once two phases in a row were over before their pace was known") {
  for (const int length : {1, 2}) {
    const std::array lengths{12, length, length, 12};
    const auto kinds = kinds_in_phases(lengths, true);
    CAPTURE(length);
    CHECK(std::count(kinds.begin(), kinds.end(), DecisionKind::kEarly) == 2 + 2 * length);
  }
}

TEST_CASE("an interval between two patterns does not end the waits in each phase") {
  const std::array lengths{12, 1, 12};
  const auto kinds = kinds_in_phases(lengths, true);
  CHECK(std::count(kinds.begin() + 12, kinds.end(), DecisionKind::kEarly) == 3);
  CHECK(kinds[15] == DecisionKind::kRemaps);
}

TEST_CASE("one message in the interval after the moves is not taken for another phase") {
  Decider decider({.tries = true});
  std::vector<DecisionKind> kinds;
  const auto step = [&](std::vector<MatrixEntry> entries) {
    const Traffic traffic(CommMatrix::from_entries(4, std::move(entries)));
    REQUIRE(!decider.observe({traffic, 1, 0.1, 0.1, false, traffic.total()}));
    const bool is_there = !kinds.empty() && decider.is_on_trial();
    const auto price = [] { return 0.001; };
    kinds.push_back(
        decider.decide({0.05, !is_there, false, price, {}}, {}, {0.1, is_there, false, price, {}})
            .kind);
  };
  for (int i = 0; i < 3; ++i) step({{0, 1, 1e9, 1000}, {2, 3, 1e9, 1000}});
  REQUIRE(kinds.back() == DecisionKind::kRemaps);
  step({{0, 1, 1e6, 1}});
  for (int i = 0; i < 4; ++i) step({{0, 1, 2e6, 2}, {2, 3, 2e6, 2}});
  CHECK(std::count(kinds.begin(), kinds.end(), DecisionKind::kSlower) == 1);
}

TEST_CASE("nothing is tried in a replay, with decide=always and with decide=never") {
  for (const DeciderOptions& options :
       {DeciderOptions{}, DeciderOptions{.rule = Decide::kAlways, .tries = true},
        DeciderOptions{.rule = Decide::kNever, .tries = true}}) {
    Program program{.pace_there = 0.5};
    Decider decider(options);
    for (int i = 0; i < 50; ++i) program.step(decider);
    CHECK(program.count(DecisionKind::kEarly) == 0);
    CHECK(program.count(DecisionKind::kSlower) == 0);
  }
}
