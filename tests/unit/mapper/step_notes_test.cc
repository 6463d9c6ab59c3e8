// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/step_notes.h"

#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("ranks that have the same to tell share one note") {
  using Texts = std::set<std::string>;
  StepNotes notes;
  notes.add("of all");
  notes.add(WorldRank(3), "bound");
  notes.add(WorldRank(3), "bound");
  CHECK(notes.texts() == Texts{"of all", "rank 3: bound"});
  for (const int rank : {10, 2, 4}) notes.add(WorldRank(rank), "bound");
  notes.add(WorldRank(10), "no room");
  CHECK(notes.texts() == Texts{"of all", "ranks 2-4,10: bound", "rank 10: no room"});
  notes.remove(WorldRank(10), "no room");
  notes.remove(WorldRank(3), "bound");
  notes.remove(WorldRank(3), "was never told");
  CHECK(notes.texts() == Texts{"of all", "ranks 2,4,10: bound"});
}
