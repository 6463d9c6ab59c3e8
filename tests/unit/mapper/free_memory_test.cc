// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/free_memory.h"

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

using Fits = std::vector<bool>;

Fits with_room(std::uint64_t each, const std::vector<PageFlow>& flows) {
  return flows_that_fit(flows, [&](int) { return std::optional(each); });
}

}  // namespace

TEST_CASE("pages that leave a node make room for pages that come") {
  CHECK(with_room(0, {{0, 1, 300}, {1, 0, 300}}) == Fits{true, true});
  CHECK(with_room(0, {{0, 1, 300}, {1, 2, 300}, {2, 0, 300}}) == Fits{true, true, true});
  CHECK(with_room(0, {{0, 1, 300}}) == Fits{false});
  CHECK(with_room(300, {{0, 1, 300}}) == Fits{true});
}

TEST_CASE(
    "if not all flows fit, the largest are left out, and so are flows that needed their room") {
  CHECK(with_room(300, {{0, 1, 100}, {0, 1, 250}, {0, 1, 200}}) == Fits{true, false, true});
  CHECK(with_room(10, {{0, 1, 100}, {1, 0, 300}}) == Fits{false, false});
  CHECK(with_room(50, {{1, 2, 100}, {0, 1, 100}}) == Fits{false, false});
}

TEST_CASE("pages change places only if there is room for a first piece") {
  constexpr std::uint64_t kMib = std::uint64_t{1} << 20;
  const std::vector<PageFlow> exchange{{0, 1, 300 * kMib}, {1, 0, 300 * kMib}};
  const auto with = [&](std::uint64_t room0, std::uint64_t room1) {
    return all_can_move(exchange,
                        [=](int node) { return std::optional(node == 0 ? room0 : room1); });
  };
  CHECK(with(16 * kMib, 16 * kMib));
  CHECK_FALSE(with(16 * kMib, 15 * kMib));
  CHECK_FALSE(with(0, 100 * kMib));
  CHECK_FALSE(all_can_move(std::vector<PageFlow>{{0, 1, 2}},
                           [](int) { return std::optional<std::uint64_t>(1); }));
  CHECK(all_can_move({}, room_for_pages));
}

TEST_CASE("a node with unknown room takes all, and a node that gets no pages is not asked") {
  int asked = 0;
  const auto unknown = [&](int node) -> std::optional<std::uint64_t> {
    ++asked;
    CHECK(node == 1);
    return std::nullopt;
  };
  const std::vector<PageFlow> flows{{0, 1, 1000}, {0, 1, 2000}};
  CHECK(flows_that_fit(flows, unknown) == Fits{true, true});
  CHECK(asked == 1);
  CHECK(flows_that_fit({}, unknown).empty());
}
