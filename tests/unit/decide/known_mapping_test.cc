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
    return known.compute(algorithm, {machine, slots, traffic, model, start})->mapping;
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

TEST_CASE("a lower bound that rules every gain out saves the search") {
  Place place;
  const Traffic traffic = pairs(false, 1e9), alike = pairs(false, 1.001e9);
  const MapRequest request{place.machine, place.slots, traffic, place.model, place.start};
  const double now = evaluate(place.model, place.slots, traffic, place.start).total;
  const double least = least_cost(request);
  REQUIRE(least > 0);
  REQUIRE(least < now);
  const auto ask = [&](const MapRequest& asked, double needed, const char* algorithm) {
    return *place.known.compute(algorithm, asked, {now, needed});
  };
  const KnownAnswer none = ask(request, 1.01 * (now - least), "coordinated");
  CHECK(none.is_ruled_out);
  CHECK(none.mapping == place.start);
  CHECK_FALSE(ask(request, 1.01 * (now - least), "locality").is_ruled_out);
  // The bound of traffic that is alike holds. A gain that may be possible needs a search.
  const MapRequest later{place.machine, place.slots, alike, place.model, place.start};
  CHECK(ask(later, 1.01 * (now - least), "coordinated").is_ruled_out);
  const KnownAnswer found = ask(later, 0.9 * (now - least), "coordinated");
  CHECK_FALSE(found.is_ruled_out);
  CHECK(found.mapping == place.search(alike));
  // Without a need for a gain every mapping is of use.
  place.known.forget();
  CHECK_FALSE(ask(request, 0, "coordinated").is_ruled_out);
}

TEST_CASE("messages count as bytes do: other numbers of messages are other traffic") {
  CHECK(Pattern(pairs(true, 1e7, 1)).difference(pairs(false, 1e7, 1)) ==
        Approx(0.5));  // half of the messages
  CHECK(Pattern(pairs(true, 1e7)).difference(pairs(false, 1e7)) == Approx(0.0099).epsilon(0.01));
  CHECK(Pattern(pairs(true, 1e7)).difference(pairs(true, 1e7)) == 0);
  CHECK(Pattern(pairs(true, 1e7)).difference(Traffic(CommMatrix::from_entries(8, {}))) == 1);
}
