// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/indexed_vector.h"

#include "mapcore/base/ids.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

template <class Vector, class Id>
concept TakesId = requires(Vector vector, Id id) {
  vector[id];
};

using OfRanks = IndexedVector<LocalRank, int>;
static_assert(TakesId<OfRanks, LocalRank> && TakesId<OfRanks, std::size_t>);
static_assert(!TakesId<OfRanks, WorldRank> && !TakesId<OfRanks, SlotIndex>);

}  // namespace

TEST_CASE("a vector with a strong index has its ids, and no others") {
  OfRanks squares{0, 1, 4};
  int sum = 0;
  for (const LocalRank rank : squares.ids()) sum += squares[rank];
  CHECK(sum == 5);
  squares[LocalRank(1)] = 7;
  CHECK(squares[1] == 7);
  CHECK(squares.has(LocalRank(2)));
  CHECK(!squares.has(LocalRank(3)));
  CHECK(!squares.has(LocalRank(-1)));
  CHECK(OfRanks(std::vector<int>{5, 6})[LocalRank(1)] == 6);
}
