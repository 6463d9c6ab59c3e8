// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/rank_notes.h"

#include "mapcore/report/report.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

std::vector<std::string> texts_of(const Ranks& ranks) {
  std::vector<std::string> texts;
  for (const RankNote& note : notes_of_ranks(ranks)) texts.push_back(note.text);
  return texts;
}

}  // namespace

TEST_CASE("a step without counts is told one reason: nobody came, or who came was left alone") {
  Ranks ranks(2);
  CHECK(texts_of(ranks) == std::vector<std::string>{kNobodyCalled});
  for (const std::uint32_t note : {ONDELOC_NOTE_WORLD_SIZE, ONDELOC_NOTE_FOREIGN_JOB,
                                   ONDELOC_NOTE_UNKNOWN_MPI, ONDELOC_NOTE_SINGLETON}) {
    ranks.at(LocalRank(1)).notes = note;
    const auto told = texts_of(ranks);
    REQUIRE(told.size() == 1);
    CHECK(told[0] != kNobodyCalled);
  }
  // A note that is no reason.
  ranks.at(LocalRank(1)).notes = ONDELOC_NOTE_NO_PMIX;
  CHECK(texts_of(ranks).size() == 2);
}
