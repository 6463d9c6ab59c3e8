// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/page_moves.h"

#include "tests/unit/catch.h"
#include "tests/unit/step/waiting_ranks.h"

using namespace ondeloc;

namespace {

using Nodes = std::vector<int>;
using Pairs = std::vector<NodePair>;
constexpr LocalRank kRank(0), kOther(1);

}  // namespace

TEST_CASE("pages that did not follow yet go where their rank is now") {
  PageMoves moves;
  moves.add(kRank, Nodes{0}, Nodes{1});
  moves.add(kOther, Nodes{1}, Nodes{0});
  moves.add(kRank, Nodes{1}, Nodes{2});
  CHECK(moves.of(kRank) == Pairs{{1, 2}, {0, 2}});
  CHECK(moves.of(kOther) == Pairs{{1, 0}});
}

TEST_CASE("pages that did not follow stay where their rank comes back") {
  PageMoves moves;
  moves.add(kRank, Nodes{0}, Nodes{1});
  moves.add(kRank, Nodes{1}, Nodes{0});
  CHECK(moves.of(kRank) == Pairs{{1, 0}});
  moves.add(kRank, Nodes{0, 1}, Nodes{0, 1});
  CHECK(moves.empty());
}

TEST_CASE("pages on their way to a node that the rank keeps go on") {
  PageMoves moves;
  moves.add(kRank, Nodes{0, 1}, Nodes{2, 3});
  moves.add(kRank, Nodes{2, 3}, Nodes{3, 4});
  CHECK(moves.of(kRank) == Pairs{{2, 4}, {0, 4}, {1, 3}});
}

TEST_CASE("pages that wait on a node are moved once when more is brought from there") {
  PageMoves moves;
  moves.add(kRank, Nodes{0}, Nodes{1});
  moves.add(kRank, Nodes{0, 2}, Nodes{1});
  CHECK(moves.of(kRank) == Pairs{{0, 1}, {2, 1}});
}

TEST_CASE("a node that is not there costs a note, and a rank that is gone nothing") {
  const WaitingRanks waiting(std::vector<std::vector<std::uint64_t>>{{1}, {2}});
  Ranks ranks(2);
  ranks.refresh(waiting.view());
  StepNotes notes;
  PageMoves moves;
  moves.add(kRank, Nodes{5000}, Nodes{5001});
  moves.run(ranks, notes);
  CHECK(moves.empty());
  CHECK(notes.texts() ==
        std::set<std::string>{"rank 0: pages stayed on NUMA node 5000: no such NUMA node"});
  StepNotes none;
  ranks.at(kRank).detached = true;
  moves.add(kRank, Nodes{0}, Nodes{5001});
  moves.run(ranks, none);
  CHECK(moves.empty());
  CHECK(none.texts().empty());
}

TEST_CASE("more moves than are made at once all come to their end") {
  const WaitingRanks waiting(std::vector<std::vector<std::uint64_t>>{{1}, {2}});
  Ranks ranks(2);
  ranks.refresh(waiting.view());
  Nodes before, after;
  for (int i = 0; i < 20; ++i) {
    before.push_back(5000 + i);
    after.push_back(6000 + i);
  }
  StepNotes notes;
  PageMoves moves;
  moves.add(kRank, before, after);
  moves.add(kOther, before, after);
  moves.run(ranks, notes);
  CHECK(moves.empty());
  CHECK(notes.texts().size() == 20);  // both ranks in each
}
