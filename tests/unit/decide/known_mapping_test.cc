// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/known_mapping.h"

#include "mapcore/map/shared_slots.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

// Eight ranks on two nodes of four cores. Ranks 0 to 3 talk much, in pairs. Ranks 4 to 7 talk
// little: 4 with 5 and 6 with 7, or 4 with 6 and 5 with 7.
Traffic pairs(bool crossed, double little, double messages = 1000) {
  const int peer = crossed ? 6 : 5;
  return Traffic(CommMatrix::from_entries(8, {{0, 1, 1e9, messages},
                                              {2, 3, 1e9, messages},
                                              {4, peer, little, 1},
                                              {11 - peer, 7, little, 1}}));
}

struct Place {
  Machine machine = *load_machine("numa:2 core:4 pu:1");
  SlotSet slots = shared_slots(machine, machine.allowed, 8, 1);
  CostModel model = CostModel::from(machine);
  Mapping start;
  KnownMapping known;

  // Ranks 4 to 7 begin where every pair of them is torn.
  Place() {
    for (const int slot : {0, 1, 4, 5, 2, 6, 7, 3}) start.push_back(SlotIndex(slot));
  }
  Mapping ask(const Traffic& traffic, const char* algorithm = "coordinated") {
    return *known.compute(algorithm, {machine, slots, traffic, model, start});
  }
  Mapping search(const Traffic& traffic, const char* algorithm = "coordinated") const {
    return *compute_mapping(algorithm, {machine, slots, traffic, model, start});
  }
};

}  // namespace

TEST_CASE("a known mapping is the answer while the traffic is alike") {
  Place place;
  const Traffic first = pairs(true, 1e7), alike = pairs(false, 1e7);
  REQUIRE_FALSE(place.search(first) == place.search(alike));
  CHECK(place.ask(first) == place.search(first));
  CHECK(place.ask(alike) == place.search(first));
  place.known.forget();
  CHECK(place.ask(alike) == place.search(alike));
}

TEST_CASE("other traffic, moved ranks and a published algorithm need a search") {
  Place place;
  const Traffic first = pairs(true, 1e9), other = pairs(false, 1e9);
  CHECK(place.ask(first) == place.search(first));
  CHECK(place.ask(other) == place.search(other));
  place.start = place.ask(other);
  CHECK(place.ask(first) == place.search(first));
  const Traffic little = pairs(true, 1e7), alike = pairs(false, 1e7);
  for (const Traffic& traffic : {little, alike})
    CHECK(place.ask(traffic, "locality") == place.search(traffic, "locality"));
}

TEST_CASE("a known mapping is the answer after the ranks have moved there") {
  Place place;
  const Traffic first = pairs(true, 1e7), alike = pairs(false, 1e7);
  const Mapping wanted = place.ask(first);
  place.start = wanted;
  CHECK(place.ask(alike) == wanted);
  place.known.forget();
  CHECK_FALSE(place.ask(alike) == wanted);
}

TEST_CASE("messages count as bytes do: other numbers of messages are other traffic") {
  CHECK(Pattern(pairs(true, 1e7, 1)).difference(pairs(false, 1e7, 1)) ==
        Approx(0.5));  // half of the messages
  CHECK(Pattern(pairs(true, 1e7)).difference(pairs(false, 1e7)) == Approx(0.0099).epsilon(0.01));
  CHECK(Pattern(pairs(true, 1e7)).difference(pairs(true, 1e7)) == 0);
  CHECK(Pattern(pairs(true, 1e7)).difference(Traffic(CommMatrix::from_entries(8, {}))) == 1);
}
