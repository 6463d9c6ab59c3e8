// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/counters.h"

#include <sys/mman.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "mapcore/mapper/cpu_seconds.h"
#include "tests/unit/catch.h"
#include "tests/unit/segment/segment_fixture.h"

using namespace ondeloc;

namespace {

// The rows of a segment as the ranks write them.
class Rows {
 public:
  explicit Rows(const SegmentPlan& plan = small_plan())
      : fd_(std::move(*create_segment(plan))), view_(*SegmentView::open(fd_.get())) {
    void* memory = mmap(nullptr, view_.header().segment_size, PROT_READ | PROT_WRITE, MAP_SHARED,
                        fd_.get(), 0);
    REQUIRE(memory != MAP_FAILED);
    base_ = static_cast<char*>(memory);
    for (unsigned local = 0; local < ranks(); ++local)
      slot(local).rank_state = ONDELOC_RANK_ATTACHED;
  }
  ~Rows() { munmap(base_, view_.header().segment_size); }
  ondeloc_slot& slot(unsigned local) {
    return reinterpret_cast<ondeloc_slot*>(base_ + view_.header().slots_offset)[local];
  }
  // The cell of a peer, which is marked as in use; ranks(): of ranks off the node.
  ondeloc_cell& sent(unsigned local, int to) {
    if (static_cast<unsigned>(to) < ranks())
      used_cells_of(row(local), ranks(), view_.header().world_ranks)
          .mark(static_cast<unsigned>(to));
    return row(local)[to];
  }
  ondeloc_cell& fetched(unsigned local, int from) { return *(&sent(local, from) + 4); }
  PeerCells peers(unsigned local) { return peer_cells_of(row(local), 3, 8); }
  ondeloc_cell* row(unsigned local) {
    return reinterpret_cast<ondeloc_cell*>(base_ + view_.header().rows_offset +
                                           local * view_.header().row_stride);
  }
  const SegmentView& view() const { return view_; }

 private:
  unsigned ranks() const { return view_.header().local_ranks; }
  UniqueFd fd_;
  SegmentView view_;
  char* base_ = nullptr;
};

bool same(const ondeloc_cell& a, const ondeloc_cell& b) {
  return a.bytes == b.bytes && a.messages == b.messages;
}

}  // namespace

TEST_CASE("fetched data counts from its source to the rank that fetched it") {
  Rows rows;
  Counters counters(3);
  rows.sent(0, 1) = {100, 2};
  rows.sent(0, 3) = {7, 1};
  rows.slot(1).notes = ONDELOC_NOTE_ONE_SIDED;
  rows.fetched(1, 0) = {40, 4};
  rows.fetched(1, 3) = {9, 3};
  rows.fetched(2, 0) = {1000, 1};  // rank 2 has no window: nobody reads that
  counters.read_rows(rows.view());
  CHECK(same(counters.total(0, 1), {140, 6}));
  CHECK(same(counters.total(1, 0), {0, 0}));
  CHECK(same(counters.total(0, 2), {0, 0}));
  CHECK(same(counters.total_off_node(1), {9, 3}));
  CHECK(same(counters.counted_by(0), {107, 3}));
  CHECK(same(counters.counted_by(1), {49, 7}));
  const CounterDelta first = counters.take_delta();
  REQUIRE(first.traffic.pairs() == 1);
  CHECK(first.traffic.edges(0)[0].bytes == 140);
  CHECK(first.off_node == std::vector<double>{7, 9, 0});
  rows.fetched(1, 0) = {50, 5};
  counters.read_rows(rows.view());
  const CounterDelta second = counters.take_delta();
  REQUIRE(second.traffic.pairs() == 1);
  CHECK(second.traffic.edges(1)[0].bytes == 10);
  CHECK(second.traffic.total_messages() == 1);
}

TEST_CASE("only cells that are marked as in use are read") {
  Rows rows;
  Counters counters(3);
  rows.row(0)[1] = {100, 2};
  counters.read_rows(rows.view());
  CHECK(same(counters.total(0, 1), {0, 0}));
  rows.sent(0, 2) = {5, 1};
  used_cells_of(rows.row(0), 3, 8).words[0] |= ~std::uint64_t{7};  // ranks that do not exist
  counters.read_rows(rows.view());
  CHECK(same(counters.total(0, 2), {5, 1}));
  CHECK(counters.take_delta().traffic.pairs() == 1);
}

TEST_CASE("growth is taken once from every cell, whatever the number of ranks") {
  const Rows rows;  // turns world ranks into local ranks
  for (const int ranks : {3, 63, 64, 65, 130}) {
    INFO(ranks << " ranks");
    Counters counters(ranks);
    RowRecord row{};
    row.head.head.world_rank = 4;  // local rank 0
    row.entries = {{6, 0, {10, 1}}, {ONDELOC_ROW_OFF_NODE, 0, {30, 3}}};
    counters.add_row_event(rows.view(), row);
    row.head.head.world_rank = 6;  // local rank 1
    row.entries = {{4, 0, {5, 1}}};
    counters.add_row_event(rows.view(), row);
    const CounterDelta delta = counters.take_delta();
    REQUIRE(delta.traffic.ranks() == ranks);
    REQUIRE(delta.traffic.pairs() == 1);
    for (const int rank : {0, 1}) {
      CHECK(delta.traffic.edges(rank)[0].peer == 1 - rank);
      CHECK(delta.traffic.edges(rank)[0].bytes == 15);
      CHECK(delta.traffic.messages(rank)[0] == 2);
    }
    CHECK(delta.off_node[0] == 30);
    CHECK(delta.off_node.size() == static_cast<std::size_t>(ranks));
    CHECK(delta.traffic.total_messages() == 2);
    const CounterDelta again = counters.take_delta();
    CHECK(again.traffic.pairs() == 0);
    CHECK(again.off_node[0] == 0);
    row.entries = {{4, 0, {8, 1}}, {ONDELOC_ROW_OFF_NODE, 0, {1, 1}}};  // one direction goes on
    counters.add_row_event(rows.view(), row);
    const CounterDelta later = counters.take_delta();
    REQUIRE(later.traffic.pairs() == 1);
    CHECK(later.traffic.edges(0)[0].bytes == 3);
    CHECK(later.traffic.total_messages() == 0);
    CHECK(later.off_node[1] == 1);
  }
}

TEST_CASE("every pair has totals and growth of its own where all talk to all") {
  constexpr int kRanks = 70;
  SegmentPlan plan = small_plan();
  std::vector<std::uint32_t> world(kRanks);
  std::iota(world.begin(), world.end(), 0U);
  plan.world_of_local = world;
  plan.world_ranks = kRanks;
  Rows rows(plan);
  Counters counters(kRanks);
  const auto bytes = [](int from, int to) { return static_cast<std::uint64_t>(100 * from + to); };
  for (int turn = 1; turn <= 2; ++turn) {
    for (int i = 0; i < kRanks; ++i)
      for (int j = 0; j <= kRanks; ++j) {
        ondeloc_cell& cell = rows.sent(static_cast<unsigned>(i), j);
        cell = {cell.bytes + bytes(i, j), cell.messages + 1};
      }
    counters.read_rows(rows.view());
    const CounterDelta& delta = counters.take_delta();
    REQUIRE(delta.traffic.pairs() == kRanks * (kRanks - 1) / 2);
    for (int i = 0; i < kRanks; ++i) {
      CHECK(delta.off_node[static_cast<std::size_t>(i)] == static_cast<double>(bytes(i, kRanks)));
      for (const Traffic::Edge& edge : delta.traffic.edges(i)) {
        CHECK(edge.bytes == static_cast<double>(bytes(i, edge.peer) + bytes(edge.peer, i)));
        const auto times = static_cast<std::uint64_t>(turn);
        CHECK(same(counters.total(i, edge.peer), {times * bytes(i, edge.peer), times}));
      }
      CHECK(same(counters.total(i, i), {0, 0}));
    }
    CHECK(delta.traffic.total_messages() == kRanks * (kRanks - 1));
  }
}

TEST_CASE("a ROW event tells sent and fetched data apart") {
  const Rows rows;
  Counters counters(3);
  RowRecord row{};
  row.head.head.world_rank = 6;  // local rank 1
  row.entries = {{4, 0, {10, 1}}, {4, 1, {20, 2}}, {ONDELOC_ROW_OFF_NODE, 1, {30, 3}}};
  counters.add_row_event(rows.view(), row);
  CHECK(same(counters.total(1, 0), {10, 1}));
  CHECK(same(counters.total(0, 1), {20, 2}));
  CHECK(same(counters.total_off_node(1), {30, 3}));
}

TEST_CASE("ranks off the node that have a cell are told apart, and the sum holds all") {
  Rows rows;
  Counters counters(3);
  const PeerCells peers = rows.peers(1);
  rows.sent(1, 3) = {5, 1};
  peers.sent[peers.claim(0)] = {100, 2};
  peers.sent[peers.claim(7)] = {30, 3};
  peers.fetched[peers.claim(7)] = {4, 1};  // rank 1 has no window yet: nobody reads that
  counters.read_rows(rows.view());
  CHECK(same(counters.total_off_node(1), {135, 6}));
  CHECK(same(counters.total_off_node(0), {0, 0}));
  CHECK(counters.take_delta().off_node == std::vector<double>{0, 135, 0});
  rows.slot(1).notes = ONDELOC_NOTE_ONE_SIDED;
  counters.read_rows(rows.view());
  CHECK(same(counters.total_off_node(1), {139, 7}));
  const auto by_peer = counters.off_node_by_peer(rows.view(), 1);
  REQUIRE(by_peer.size() == 2);
  CHECK(same(by_peer.at(0), {100, 2}));
  CHECK(same(by_peer.at(7), {34, 4}));
  CHECK(counters.off_node_by_peer(rows.view(), 0).empty());
}

TEST_CASE("ROW events tell ranks off the node apart") {
  const Rows rows;
  Counters counters(3);
  RowRecord row{};
  row.head.head.world_rank = 6;  // local rank 1
  row.entries = {{ONDELOC_ROW_OFF_NODE, 0, {5, 1}}, {0, 0, {100, 2}}, {7, 1, {4, 1}}};
  counters.add_row_event(rows.view(), row);
  row.entries = {{7, 0, {30, 3}}, {0, 0, {90, 1}}, {8, 0, {1000, 1}}};  // older; none of the world
  counters.add_row_event(rows.view(), row);
  CHECK(same(counters.total_off_node(1), {139, 7}));
  const auto by_peer = counters.off_node_by_peer(rows.view(), 1);
  REQUIRE(by_peer.size() == 2);
  CHECK(same(by_peer.at(0), {100, 2}));
  CHECK(same(by_peer.at(7), {34, 4}));
}

namespace {

// The least time of several for some entries about so many ranks off the node.
double time_of_entries(const SegmentView& view, std::uint32_t peers) {
  constexpr std::uint32_t kEntries = 4096, kTurns = 5;
  double least = 1e9;
  for (std::uint32_t turn = 0; turn < kTurns; ++turn) {
    Counters counters(3);
    RowRecord row{};
    for (std::uint32_t i = 0; i < kEntries; ++i)
      row.entries.push_back({3 + i % peers, 0, {100 + i, 1 + i}});
    const double start = cpu_seconds();
    counters.add_row_event(view, row);
    least = std::min(least, cpu_seconds() - start);
    REQUIRE(counters.off_node_by_peer(view, 0).size() == peers);
  }
  return least;
}

}  // namespace

TEST_CASE("the time for a ROW event does not grow with the ranks off the node that came before") {
  SegmentPlan plan = small_plan();
  const std::vector<std::uint32_t> world{0, 1, 2};
  plan.world_of_local = world;
  plan.world_ranks = 3 + ONDELOC_PEER_CELLS_MAX;
  const Rows rows(plan);
  CHECK(time_of_entries(rows.view(), ONDELOC_PEER_CELLS_MAX) <
        8 * time_of_entries(rows.view(), 16));
}
