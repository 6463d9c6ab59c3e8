// SPDX-License-Identifier: Apache-2.0
#include "mapcore/options/suggestion.h"

#include <string>

#include "mapcore/options/options.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("the distance counts changed, missing, added and swapped characters") {
  CHECK(typing_distance("", "") == 0);
  CHECK(typing_distance("", "abc") == 3);
  CHECK(typing_distance("replay", "replay") == 0);
  CHECK(typing_distance("repaly", "replay") == 1);
  CHECK(typing_distance("relay", "replay") == 1);
  CHECK(typing_distance("replays", "replay") == 1);
  CHECK(typing_distance("kitten", "sitting") == 3);
  CHECK(typing_distance(std::string(100'000, 'x'), "map") == 64);
}

TEST_CASE("a word that is mistyped is known again, any other is not") {
  const std::vector<std::string_view> known{"map", "evaluate", "compare", "replay", "topology"};
  CHECK(closest_word("mpa", known) == "map");
  CHECK(closest_word("evalute", known) == "evaluate");
  CHECK(closest_word("topo", known) == "topology");
  CHECK(closest_word("profile", known).empty());
  CHECK(closest_word("", known).empty());
  CHECK(closest_word("zz", known).empty());
}

TEST_CASE("the option asks whether another mode, key, value or algorithm was meant") {
  CHECK(parse_options("onlin").error().message() ==
        "mode 'onlin' is not known; did you mean online?");
  CHECK(parse_options("online,treshold=0.1").error().message() ==
        "key 'treshold' is not known; did you mean threshold?");
  CHECK(parse_options("online,algorithm=packd").error().message() ==
        "algorithm 'packd' is not known; did you mean packed?");
}
