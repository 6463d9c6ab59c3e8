// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/counting.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "mapcore/segment/peer_cells.h"
#include "tests/unit/catch.h"

#include "pmix_hooks/rank/pml_hooks.h"

extern bool several_threads_in_reporter;  // pml_hooks_test.cc

namespace counting_test {
namespace {

using namespace ondeloc;
using open_mpi::Handle;

constexpr std::uint32_t kLocal = 150, kWorld = 300;
constexpr int kBytes = 24;

// A communicator, or its group: the world rank of each member.
using Members = std::vector<int>;
Members the_world(kWorld);
char element;  // a predefined type

const Members& members(Handle comm) { return *reinterpret_cast<Members*>(comm); }
Handle handle_of(Members& comm) { return reinterpret_cast<Handle>(&comm); }

int never_inter(Handle, int* flag) { return *flag = 0; }
int size_of(Handle comm, int* size) { return *size = static_cast<int>(members(comm).size()), 0; }
int group_of(Handle comm, Handle* group) { return *group = comm, 0; }
int no_group(Handle, int, const int*, Handle*) { return 1; }
int world_of(Handle group, int, const int* rank, Handle, int* world) {
  return *world = members(group)[static_cast<std::size_t>(*rank)], 0;
}
int keep_group(Handle*) { return 0; }
int send_nothing(const void*, std::size_t, Handle, int, int, int, Handle) { return 0; }

// Rank 0 of a node with every second rank of the world, or with the ranks of its first half.
class OneThread {
 public:
  explicit OneThread(std::uint32_t apart)
      : local_(kWorld), row_(ondeloc_row_size(kLocal, kWorld) / sizeof(ondeloc_cell) + 1) {
    MpiCalls calls{};
    calls.comm_test_inter = never_inter;
    calls.comm_size = size_of;
    calls.comm_group = calls.win_get_group = group_of;
    calls.group_size = size_of;
    calls.group_incl = no_group;
    calls.group_translate_ranks = world_of;
    calls.group_free = keep_group;
    std::iota(the_world.begin(), the_world.end(), 0);
    calls.comm_world = calls.world_group = handle_of(the_world);
    for (std::uint32_t rank = 0; rank < kLocal; ++rank) local_[rank * apart] = rank + 1;
    peers_start(calls, {local_.data(), kWorld, kLocal}, row_.data(), [] {});
    type_table[type_hash(&element)] = {&element, kBytes};
    several_threads_in_reporter = false;
    counting.row = row_.data();
    counting.tick = &tick_;
    counting.active = true;
    follow_nobody();
    entries_[at_.send] = reinterpret_cast<void*>(send_nothing);
    install_hooks({entries_.data(), at_}, false, CountMode::kShm);
  }
  ~OneThread() {
    remove_hooks();
    for (Members* comm : used_) forget_comm(comm);
    follow_nobody();
    counting.active = false;
    several_threads_in_reporter = true;
    type_table[type_hash(&element)] = {};
  }

  void send(Members& comm, int to) {
    const auto hook = reinterpret_cast<open_mpi::PmlSend>(entries_[at_.send]);
    CHECK(hook(nullptr, 1, &element, to, 0, 0, handle_of(comm)) == 0);
    used_.push_back(&comm);
    ++sent_[static_cast<std::size_t>(comm[static_cast<std::size_t>(to)])];
  }

  // Whether the cell of each rank has its messages.
  bool is_right() {
    for (std::uint32_t world = 0; world < kWorld; ++world) {
      const ondeloc_cell cell = cell_of(world);
      if (cell.messages != sent_[world] || cell.bytes != kBytes * sent_[world]) return false;
    }
    return true;
  }

 private:
  ondeloc_cell cell_of(std::uint32_t world) {
    if (local_[world] != 0) return row_[local_[world] - 1];
    const PeerCells off_node = peer_cells_of(row_.data(), kLocal, kWorld);
    ondeloc_cell found{};
    off_node.each([&](std::uint32_t rank, std::uint32_t at) {
      if (rank == world) found = off_node.sent[at];
    });
    return found;
  }

  open_mpi::PmlIndexes at_ = open_mpi::kSeries4;
  std::vector<void*> entries_ = std::vector<void*>(64);
  std::vector<std::atomic<std::uint32_t>> local_;
  std::vector<ondeloc_cell> row_;
  std::vector<std::uint64_t> sent_ = std::vector<std::uint64_t>(kWorld);
  std::vector<Members*> used_;
  std::uint64_t tick_ = 0;
};

// Communicators of which ranks stand in the order of the world, in another one, or in none.
std::vector<Members> some_communicators(std::mt19937& random) {
  std::vector<Members> found{the_world, the_world, the_world, the_world, the_world};
  std::reverse(found[1].begin(), found[1].end());
  std::rotate(found[2].begin(), found[2].begin() + 70, found[2].end());
  std::shuffle(found[3].begin(), found[3].end(), random);
  std::swap(found[4][7], found[4][9]);
  Members column;
  for (int rank = 2; rank < static_cast<int>(kWorld); rank += 7) column.push_back(rank);
  found.push_back(column);
  return found;
}

}  // namespace

TEST_CASE(
    "a message is counted in the cell of its peer, wherever that stands in its communicator") {
  OneThread rank(GENERATE(1U, 2U));
  std::mt19937 random(GENERATE(1U, 2U, 3U));
  std::vector<Members> comms = some_communicators(random);
  for (Members& more : some_communicators(random)) comms.push_back(std::move(more));
  const auto any = [&](std::size_t end) { return static_cast<std::size_t>(random() % end); };
  Members* comm = &comms[0];
  for (int i = 0; i < 5000; ++i) {
    if (any(4) == 0) comm = &comms[any(comms.size())];
    rank.send(*comm, static_cast<int>(any(comm->size())));
  }
  CHECK(rank.is_right());
}

TEST_CASE("peers in the order of their cells are found without their cell codes") {
  OneThread rank(1);
  Members comm(the_world.begin() + 100, the_world.end());
  for (const int peer : {10, 20, 41, 42, 49, 10}) rank.send(comm, peer);
  CHECK(counting.near_codes == &peers_of(handle_of(comm))->cell_code(0));
  for (const int peer : {10, 20, 41})  // the stretch has 31 peers after the first one
    CHECK((counting.near.known >> (static_cast<std::uint32_t>(peer) - counting.near.first) & 1) ==
          1);
  CHECK(known_cell(20, &comm) == counting.row + 120);
  CHECK(known_cell(49, &comm) == counting.row + 149);
  CHECK(known_cell(50, &comm) == nullptr);  // never sent to
  CHECK(known_cell(-2, &comm) == nullptr);
  CHECK(known_cell(static_cast<int>(comm.size()), &comm) == nullptr);
  CHECK(known_cell(20, &the_world) == nullptr);
  expect_several_threads();
  CHECK(known_cell(20, &comm) == nullptr);
  counting.several = false;
}

TEST_CASE("a stretch does not outlive its communicator") {
  OneThread rank(1);
  Members first(the_world.begin(), the_world.begin() + 50);
  Members second = first;
  std::reverse(second.begin(), second.end());
  for (int peer = 0; peer < 50; ++peer) rank.send(first, peer);
  if (GENERATE(false, true)) rank.send(the_world, 0);  // it is not the followed one any more
  forget_comm(&first);
  CHECK(known_cell(0, &first) == nullptr);
  for (int peer = 0; peer < 50; ++peer) rank.send(second, peer);
  CHECK(rank.is_right());
}

TEST_CASE("a program that goes back and forth between communicators finds their cells") {
  OneThread rank(1);
  Members row(the_world.begin() + 100, the_world.begin() + 150);
  Members column(the_world.begin() + 20, the_world.begin() + 60);
  rank.send(row, 3);
  rank.send(column, 5);
  CHECK(known_cell(3, &row) == counting.row + 103);
  CHECK(known_cell(5, &column) == counting.row + 25);
  CHECK(known_cell(4, &row) == nullptr);
  rank.send(row, 4);  // its stretch grows
  CHECK(known_cell(4, &row) == counting.row + 104);
  CHECK(known_cell(5, &column) == counting.row + 25);
  SECTION("until several threads send") {
    expect_several_threads();
    CHECK(known_cell(4, &row) == nullptr);
    CHECK(known_cell(5, &column) == nullptr);
    counting.several = false;
  }
  SECTION("until counting ends") {
    follow_nobody();
    CHECK(known_cell(4, &row) == nullptr);
    CHECK(known_cell(5, &column) == nullptr);
  }
}

TEST_CASE("a window is found beside the followed communicator, until it is forgotten") {
  OneThread rank(1);
  rank.send(the_world, 1);
  Members made(the_world.begin() + 10, the_world.begin() + 30);
  Peers* peers = peers_of_window(handle_of(made), true);
  REQUIRE(peers_translate(peers, handle_of(made), 3) != 0);
  keep_near(peers, &made);
  CHECK(known_cell(3, &made) == counting.row + 13);
  CHECK(known_cell(1, &the_world) == counting.row + 1);
  forget_comm(&made);
  CHECK(known_cell(3, &made) == nullptr);
  CHECK(known_cell(1, &the_world) == counting.row + 1);
  counting.several = true;
  keep_near(peers_of_window(handle_of(made), true), &made);
  CHECK(known_cell(3, &made) == nullptr);
  counting.several = false;
  forget_comm(&made);
}

}  // namespace counting_test
