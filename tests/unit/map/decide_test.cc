// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/decide.h"

#include "mapcore/mapper/interval.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("remap only for a gain above threshold, migrations and 0.1 % of wall time") {
  DecisionInput input{
      .cost_now = 0.1, .cost_new = 0.05, .interval = 1, .horizon = 1, .migration_seconds = 0};
  CHECK(worth_remapping(input));
  input.cost_new = 0.0985;
  CHECK(!worth_remapping(input));
  input = {
      .cost_now = 0.1, .cost_new = 0.05, .interval = 1, .horizon = 1, .migration_seconds = 0.06};
  CHECK(!worth_remapping(input));
  input.horizon = 10;
  CHECK(worth_remapping(input));
  input = {.cost_now = 0.001, .cost_new = 0, .interval = 1, .horizon = 1, .migration_seconds = 0};
  CHECK(!worth_remapping(input));
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

TEST_CASE("a pause is no other phase: its age goes on where it was, and it is not fleeting") {
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

TEST_CASE("migration: 1 ms a moved rank, or its pages over the link") {
  const Machine machine = *load_machine("numa:2 core:2 pu:1");
  SlotSet slots;
  for (const Pu& pu : machine.pus) {
    CpuSet one;
    one.set(pu.os);
    slots.push_back(make_slot(machine, one));
  }
  const CostModel model = CostModel::from(machine);
  const Mapping before = {SlotIndex(0), SlotIndex(1)}, after = {SlotIndex(2), SlotIndex(1)};
  const std::vector<double> resident = {20e9 / 2.1, 1};
  CHECK(migration_seconds(model, slots, before, after, resident, false) == Approx(0.001));
  CHECK(migration_seconds(model, slots, before, after, resident, true) == Approx(1));
}

TEST_CASE("interval: times v when nothing was applied, divided by v when something was") {
  IntervalController interval(500, 3000, 2);
  CHECK(interval.milliseconds() == 500);
  interval.step(false);
  CHECK(interval.milliseconds() == 1000);
  interval.step(false);
  interval.step(false);
  CHECK(interval.milliseconds() == 3000);
  interval.step(true);
  CHECK(interval.milliseconds() == 1500);
  interval.step(true);
  interval.step(true);
  CHECK(interval.milliseconds() == 500);
}
