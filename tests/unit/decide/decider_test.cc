// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/decider.h"

#include <fstream>
#include <iterator>
#include <string>

#include "mapcore/decide/interval.h"
#include "mapcore/decide/migration.h"
#include "mapcore/map/shared_slots.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

namespace {

// Asks about intervals of one second, all with the same traffic between two ranks.
struct Question {
  explicit Question(DeciderOptions options = {}) : decider(options) {}

  Decision ask(double now, double wanted, double migration = 0, bool many = false) {
    REQUIRE(!decider.observe({traffic, 1, now, now}));
    return decider.decide({wanted, true, many, [migration] { return migration; }, {}}, {});
  }

  Traffic traffic{CommMatrix::from_entries(2, {{0, 1, 5, 1}})};
  Decider decider;
};

}  // namespace

TEST_CASE("ranks move only for a gain above threshold, migration and a share of the time") {
  CHECK(Question().ask(0.1, 0.05).kind == DecisionKind::kRemaps);
  CHECK(Question().ask(0.1, 0.0985).kind == DecisionKind::kSmall);
  CHECK(Question().ask(0.1, 0.05, 0.1).kind == DecisionKind::kSmall);  // H is 1.5 s
  CHECK(Question().ask(0.1, 0.05, 0.05).kind == DecisionKind::kRemaps);
  CHECK(Question().ask(0.014, 0).kind == DecisionKind::kCheap);
  CHECK(Question().ask(0.016, 0).kind == DecisionKind::kRemaps);
  CHECK(Question({.least_gain = 0.01}).ask(0.014, 0).kind == DecisionKind::kRemaps);
  CHECK(Question().ask(0.1, 0.11).kind == DecisionKind::kKeeps);
  CHECK(Question({.rule = Decide::kAlways}).ask(0.1, 0.11, 9).kind == DecisionKind::kRemaps);
}

TEST_CASE("no mapping is asked for while none could be applied") {
  struct Case {
    DeciderOptions options;
    double now;
    bool asks;
    DecisionKind without;  // the decision without a candidate
  };
  for (const Case& c :
       {Case{{}, 0.014, false, DecisionKind::kCheap}, Case{{}, 0.016, true, DecisionKind::kKeeps},
        Case{{.rule = Decide::kNever}, 0.014, false, DecisionKind::kCheap},
        Case{{.rule = Decide::kAlways}, 0.014, true, DecisionKind::kKeeps},
        Case{{.tries = true}, 0.1, false, DecisionKind::kEarly}}) {
    Question question(c.options);
    REQUIRE(!question.decider.observe({question.traffic, 1, c.now, c.now}));
    CHECK(question.decider.asks_for_mapping() == c.asks);
    CHECK(question.decider.decide({}, {}).kind == c.without);
  }
  Question bounded;
  REQUIRE(!bounded.decider.observe({bounded.traffic, 1, 0.1, 0.1}));
  CHECK(bounded.decider.gain_needed() == Approx(0.015));
  CHECK(bounded.decider.decide({0.1, false, false, {}, {}, true}, {}).kind ==
        DecisionKind::kNearBest);
  CHECK(Decider({.rule = Decide::kAlways}).gain_needed() == 0);
  Question second({.tries = true});
  for (const bool asks : {false, false, true}) {
    REQUIRE(!second.decider.observe({second.traffic, 1, 0.1, 0.1, false, 5}));
    CHECK(second.decider.asks_for_mapping() == asks);
  }
}

TEST_CASE("decide=many applies every mapping that moves more ranks than a node has") {
  const DeciderOptions many{.rule = Decide::kMany};
  CHECK(Question(many).ask(0.1, 0.2, 0, true).kind == DecisionKind::kRemaps);
  CHECK(Question(many).ask(0.1, 0.01, 0, false).kind == DecisionKind::kFew);
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  const SlotSet slots = shared_slots(machine, machine.allowed, 4, 1);
  const Mapping before{SlotIndex(0), SlotIndex(1), SlotIndex(2), SlotIndex(3)};
  const CostModel model = CostModel::from(machine);
  CHECK(
      !moves_many(slots, model, before, {SlotIndex(2), SlotIndex(1), SlotIndex(0), SlotIndex(3)}));
  CHECK(moves_many(slots, model, before, {SlotIndex(2), SlotIndex(3), SlotIndex(0), SlotIndex(1)}));
}

TEST_CASE("on one NUMA node decide=many counts the moves between caches") {
  const Machine machine = *load_machine("numa:1 l3:2 core:2 pu:1");
  const SlotSet slots = shared_slots(machine, machine.allowed, 4, 1);
  const CostModel model = CostModel::from(machine);
  const Mapping before{SlotIndex(0), SlotIndex(1), SlotIndex(2), SlotIndex(3)};
  CHECK(
      !moves_many(slots, model, before, {SlotIndex(1), SlotIndex(0), SlotIndex(3), SlotIndex(2)}));
  CHECK(
      !moves_many(slots, model, before, {SlotIndex(2), SlotIndex(1), SlotIndex(0), SlotIndex(3)}));
  CHECK(moves_many(slots, model, before, {SlotIndex(2), SlotIndex(3), SlotIndex(0), SlotIndex(1)}));
}

TEST_CASE("a decision has the numbers that it rests on") {
  Question question({.threshold = 0.1, .interval = {0.25, 1.5, 2}});
  const Decision decision = question.ask(0.1, 0.04, 0.05);
  CHECK(decision.kind == DecisionKind::kRemaps);
  CHECK(decision.gain == Approx(0.06));
  CHECK(decision.migration == Approx(0.05));
  CHECK(decision.horizon == Approx(1.25));  // the next look comes soon
  CHECK(decision.threshold == Approx(0.1 * 0.1 + 0.05 / 1.25));
  CHECK(decision.ledger == 0);
  const Decision next = question.ask(0.1, 0.1);
  CHECK(next.ledger == Approx(0.05));
  CHECK(next.horizon == Approx(2 + 1.5));
}

TEST_CASE("an interval without traffic, one rank, or fixed ranks need no candidate") {
  const Traffic silence(CommMatrix::from_entries(4, {})), one(CommMatrix::from_entries(1, {})),
      a(CommMatrix::from_entries(4, {{0, 1, 5, 1}}));
  Decider decider({});
  CHECK(decider.observe({silence, 1, 0, 0})->kind == DecisionKind::kSilent);
  CHECK(decider.observe({one, 1, 0.1, 0.1})->kind == DecisionKind::kSilent);
  CHECK(decider.observe({a, 1, 0.1, 0.1, true})->kind == DecisionKind::kFixed);
  CHECK(!decider.observe({a, 1, 0.1, 0.1}));
}

TEST_CASE("ranks that are only watched get the decision and its numbers, and no price is booked") {
  Question moves({.threshold = 0.1, .interval = {0.5, 1.5, 2}}),
      watches({.threshold = 0.1, .interval = {0.5, 1.5, 2}, .rule = Decide::kNever});
  for (int i = 0; i < 2; ++i) {
    const Decision wanted = moves.ask(0.1, 0.04, 0.05), watched = watches.ask(0.1, 0.04, 0.05);
    CHECK(watched.kind == DecisionKind::kWatched);
    CHECK_FALSE(watched.moves());
    CHECK(watched.gain == Approx(wanted.gain));
    CHECK(watched.ledger == 0);
  }
  CHECK(watches.ask(0.1, 0.0999, 0.05).kind == DecisionKind::kSmall);
}

TEST_CASE("the price of a move and the room for memory are asked for only if they matter") {
  Question question;
  int prices = 0, rooms = 0;
  const auto ask = [&](double wanted, bool changes) {
    REQUIRE(!question.decider.observe({question.traffic, 1, 0.1, 0.1}));
    const auto price = [&prices] { return ++prices, 0.001; };
    const auto room = [&rooms] { return ++rooms, false; };
    return question.decider
        .decide({wanted, changes, false, price, room}, {0.1, true, false, price, room})
        .kind;
  };
  CHECK(ask(0.05, false) == DecisionKind::kKeeps);
  CHECK(ask(0.0999, true) == DecisionKind::kSmall);
  CHECK(prices + rooms == 0);
  CHECK(ask(0.05, true) == DecisionKind::kNoRoom);
  CHECK(prices == 1);
  CHECK(rooms == 1);
}

TEST_CASE("the manual explains every decision, word for word") {
  std::ifstream page(test_data() + "/../../etc/man/ondeloc-report.5");
  const std::string manual{std::istreambuf_iterator<char>(page), {}};
  for (const DecisionInfo& info : decisions()) {
    INFO(info.name);
    CHECK(&info == &decisions()[static_cast<std::size_t>(info.kind)]);
    CHECK(std::string(info.meaning).size() <= 70);
    CHECK(manual.find(std::string(".TP\n.B ") + info.name + "\n" + info.meaning + "\n") !=
          std::string::npos);
  }
}

TEST_CASE("slots with the same CPUs are one place") {
  const Machine machine = *load_machine("pu:2");
  const SlotSet slots = shared_slots(machine, machine.allowed, 4, 1);  // CPUs 0 1 0 1
  const CostModel model = CostModel::from(machine);
  const Mapping before{SlotIndex(0), SlotIndex(1)}, same{SlotIndex(2), SlotIndex(3)},
      other{SlotIndex(1), SlotIndex(3)};
  CHECK(!changes_cpus(slots, before, same));
  CHECK(changes_cpus(slots, before, other));
  CHECK(migration_seconds(model, slots, before, same, {}, false) == 0);
  CHECK(migration_seconds(model, slots, before, other, {}, false) == Approx(0.0001));
}

TEST_CASE("the phase clock restarts when the pattern changes") {
  const Traffic a(CommMatrix::from_entries(4, {{0, 1, 5, 1}})),
      b(CommMatrix::from_entries(4, {{2, 3, 5, 1}}));
  PhaseClock clock;
  CHECK(clock.advance(a, 1) == 1);
  CHECK(clock.advance(a, 2) == 3);
  CHECK(clock.advance(b, 1) == 1);
  CHECK(clock.advance(b, 1) == 2);
}

TEST_CASE("a pause does not end a phase: its age goes on, and it is not fleeting") {
  const Traffic silence(CommMatrix::from_entries(4, {})),
      a(CommMatrix::from_entries(4, {{0, 1, 5, 1}})),
      b(CommMatrix::from_entries(4, {{2, 3, 5, 1}}));
  PhaseClock clock;
  CHECK(clock.advance(silence, 1) == 1);
  CHECK(clock.advance(silence, 1) == 2);  // all of it may go to other nodes
  CHECK(clock.advance(a, 2) == 2);
  CHECK(!clock.is_fleeting());
  CHECK(clock.advance(silence, 30) == 30);
  CHECK(clock.advance(a, 2) == 4);
  CHECK(!clock.is_fleeting());
  CHECK(clock.advance(silence, 1) == 4);
  CHECK(clock.advance(b, 1) == 1);
  CHECK(!clock.is_fleeting());  // two looks at the one before
}

TEST_CASE("migration: 0.4 ms a moved rank, or its pages over the link") {
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  SlotSet slots;
  for (const Pu& pu : machine.pus) {
    CpuSet one;
    one.set(pu.os);
    slots.push_back(make_slot(machine, one));
  }
  const CostModel model = CostModel::from(machine);
  const Mapping before = {SlotIndex(0), SlotIndex(1)}, after = {SlotIndex(2), SlotIndex(1)};
  const std::vector<FollowingMemory> memory = {{20e9 / 2.1, 0}, {1, 0}};
  CHECK(migration_seconds(model, slots, before, after, memory, false) == Approx(0.0004));
  CHECK(migration_seconds(model, slots, before, after, memory, true) == Approx(1));
  // 100,000 pages of 4 KiB: the kernel's work for each exceeds the time that they take on the link.
  const std::vector<FollowingMemory> small = {{409.6e6, 100000}};
  CHECK(migration_seconds(model, slots, before, after, small, true) ==
        Approx(1.2 + 409.6e6 * 2.1 / 20e9));
}

TEST_CASE("a move is dearer the farther it leads") {
  const Machine machine = *load_machine("numa:2 l3:2 core:2 pu:1");
  SlotSet slots;
  for (const Pu& pu : machine.pus)
    slots.push_back(make_slot(machine, *CpuSet::parse_list(std::to_string(pu.os.value))));
  const CostModel model = CostModel::from(machine);
  const auto price = [&](int to) {
    return migration_seconds(model, slots, {SlotIndex(0)}, {SlotIndex(to)}, {}, false);
  };
  CHECK(price(0) == 0);
  CHECK(price(1) == Approx(0.0001));   // the same cache
  CHECK(price(2) == Approx(0.00025));  // another cache of the node
  CHECK(price(4) == Approx(0.0004));   // another node
  // Memory that follows a rank does not leave its node.
  CHECK(migration_seconds(model, slots, {SlotIndex(0)}, {SlotIndex(2)},
                          std::vector<FollowingMemory>{{1e12, 0}}, true) == Approx(0.00025));
}

TEST_CASE("ranks fill one cache after the other, and several caches at the same time") {
  const Machine machine = *load_machine("numa:2 core:4 pu:1");
  SlotSet slots;
  for (const Pu& pu : machine.pus)
    slots.push_back(make_slot(machine, *CpuSet::parse_list(std::to_string(pu.os.value))));
  const CostModel model = CostModel::from(machine);
  const auto price = [&](const std::vector<int>& to) {
    Mapping before, after;
    for (int i = 0; i < 4; ++i) before.emplace_back(2 * i), after.emplace_back(to[i]);
    return migration_seconds(model, slots, before, after, {}, false);
  };
  CHECK(price({4, 2, 0, 6}) == Approx(0.0004));      // one rank each way
  CHECK(price({4, 6, 0, 2}) == Approx(2 * 0.0004));  // two each way
  CHECK(price({5, 2, 4, 7}) == Approx(0.0005));      // one from the other node, one inside
}

TEST_CASE("interval: times v when nothing was applied, divided by v when something was") {
  IntervalController interval(500, 3000, 2);
  CHECK(interval.milliseconds() == 500);
  for (int i = 0; i < 3; ++i) interval.step(NextLook::kLater, false);
  CHECK(interval.milliseconds() == 3000);
  interval.step(NextLook::kLater, true);  // the first message
  CHECK(interval.milliseconds() == 500);
  for (const auto& [next, milliseconds] : {std::pair(NextLook::kLater, 1000),
                                           {NextLook::kLater, 2000},
                                           {NextLook::kLater, 3000},
                                           {NextLook::kAsBefore, 3000},
                                           {NextLook::kSooner, 1500},
                                           {NextLook::kSooner, 750},
                                           {NextLook::kSooner, 500},
                                           {NextLook::kAsBefore, 500},
                                           {NextLook::kLater, 1000},
                                           {NextLook::kLater, 2000},
                                           {NextLook::kSoonest, 500}}) {
    interval.step(next);
    CHECK(interval.milliseconds() == static_cast<std::uint32_t>(milliseconds));
  }
}

namespace {

// The lengths of the intervals of a loop whose ranks talk as `peer_at` says (0: not at all), and
// move to a better mapping as soon as they may.
std::vector<std::uint32_t> lengths_of(int intervals, bool tries,
                                      const std::function<int(int)>& peer_at) {
  Decider decider({.tries = tries});
  IntervalController interval(500, 30000, 2);
  std::vector<std::uint32_t> lengths;
  bool is_there = false;
  for (int i = 0; i < intervals; ++i) {
    const double seconds = 1e-3 * interval.milliseconds();
    std::vector<MatrixEntry> entries;
    if (peer_at(i) > 0) entries.push_back({0, peer_at(i), 1e6 * seconds, 1});
    const Traffic traffic(CommMatrix::from_entries(3, std::move(entries)));
    const double cost = peer_at(i) > 0 ? 0.1 * seconds : 0;
    const auto clear = decider.observe({traffic, seconds, cost, cost, false, traffic.total()});
    const Candidate better{cost / 2, !is_there, false, [] { return 0.001; }, {}};
    const Decision decision = clear ? *clear : decider.decide(better, {});
    if (decision.moves()) is_there = true;
    interval.step(decider.next_look(decision), cost > 0);
    lengths.push_back(interval.milliseconds());
  }
  return lengths;
}

}  // namespace

TEST_CASE("intervals stay short until the pace is known and moves were made") {
  const auto one_pattern = [](int) { return 1; };
  CHECK(lengths_of(6, true, one_pattern) ==
        std::vector<std::uint32_t>{500, 500, 500, 1000, 2000, 4000});
}

TEST_CASE("an interval is the shortest one again where the pattern is new, and not after a pause") {
  const auto reads_first = [](int i) { return i < 4 ? 0 : 1; };
  CHECK(lengths_of(8, false, reads_first) ==
        std::vector<std::uint32_t>{1000, 2000, 4000, 8000, 500, 1000, 2000, 4000});
  const auto pauses = [](int i) { return i == 3 ? 0 : 1; };
  CHECK(lengths_of(5, false, pauses) == std::vector<std::uint32_t>{500, 1000, 2000, 4000, 8000});
  const auto changes = [](int i) { return i < 4 ? 1 : 2; };
  CHECK(lengths_of(6, false, changes) ==
        std::vector<std::uint32_t>{500, 1000, 2000, 4000, 500, 1000});
  const auto begins = [](int i) { return i == 0 ? 1 : i < 5 ? 0 : 2; };  // as in MPI_Init
  CHECK(lengths_of(7, false, begins) ==
        std::vector<std::uint32_t>{500, 1000, 2000, 4000, 8000, 500, 1000});
}

TEST_CASE("intervals grow while patterns take turns") {
  for (const int turn : {1, 2, 3}) {
    const auto alternates = [turn](int i) { return 1 + i / turn % 2; };
    CAPTURE(turn);
    CHECK(lengths_of(20, false, alternates).back() == 30000);
  }
}
