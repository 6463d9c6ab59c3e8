// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/peers.h"

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "mapcore/segment/peer_cells.h"
#include "mapcore/segment/used_cells.h"
#include "tests/unit/catch.h"

using ondeloc::Peers;

namespace {

using Handle = ondeloc::open_mpi::Handle;

// MPI's answers about a communicator or group: its size, the world rank of its rank 0 and the
// distance between its ranks in the world; or the world rank of each.
struct Comm {
  int size = 0;
  int first = 0;
  int stride = 1;
  std::vector<int> ranks{};
  bool made = false;  // by include()

  int world_of(int rank) const {
    return ranks.empty() ? first + rank * stride : ranks[static_cast<std::size_t>(rank)];
  }
};

constexpr int kUndefined = -32766;
constexpr std::uint32_t kWorld = 4000;
Comm world_group{kWorld};
std::atomic<int> walks{0};

Comm& comm_of(Handle handle) { return *reinterpret_cast<Comm*>(handle); }

int never_inter(Handle, int* flag) { return *flag = 0; }
int size_of(Handle comm, int* size) {
  *size = comm_of(comm).size;
  return 0;
}
int group_of(Handle comm, Handle* group) {
  *group = comm;
  return 0;
}
int include(Handle, int, const int* ranks, Handle* out) {
  *out = reinterpret_cast<Handle>(new Comm{1, *ranks, 1, {}, true});
  return 0;
}
int translate(Handle group, int count, const int* ranks, Handle to, int* out) {
  const Comm& target = comm_of(to);
  if (target.size > 1) ++walks;
  for (int i = 0; i < count; ++i) {
    const int at = comm_of(group).world_of(ranks[i]) - target.first;
    out[i] = at >= 0 && at < target.size ? at : kUndefined;
  }
  return 0;
}
// Only groups that include() made are objects of their own.
int free_group(Handle* group) {
  if (comm_of(*group).made) delete &comm_of(*group);
  return 0;
}

std::vector<ondeloc_cell> row(ondeloc_row_size(8, kWorld) / sizeof(ondeloc_cell) + 1);
ondeloc::PeerCells off_node() { return ondeloc::peer_cells_of(row.data(), 8, kWorld); }

void start_peers() {
  static std::vector<std::atomic<std::uint32_t>> local(kWorld);
  ondeloc::MpiCalls calls{};
  calls.comm_test_inter = never_inter;
  calls.comm_size = size_of;
  calls.comm_group = group_of;
  calls.group_translate_ranks = translate;
  calls.group_incl = include;
  calls.group_free = free_group;
  calls.win_get_group = group_of;
  calls.group_size = size_of;
  calls.comm_world = reinterpret_cast<Handle>(&world_group);
  calls.world_group = calls.comm_world;
  for (std::uint32_t w = 0; w < 8; ++w) local[w] = w + 1;
  std::fill(row.begin(), row.end(), ondeloc_cell{});
  ondeloc::peers_start(calls, {local.data(), kWorld, 8}, row.data(), [] {});
}

bool is_marked(std::uint32_t local) {
  bool marked = false;
  ondeloc::used_cells_of(row.data(), 8, kWorld).each([&](std::uint32_t cell) {
    marked = marked || cell == local;
  });
  return marked;
}

// True if the cell is that of the world rank. Two halves of nine cells precede those of ranks off
// the node.
bool is_cell_of(std::uint32_t cell_plus_one, std::uint32_t world) {
  if (world < 8) return cell_plus_one == world + 1 && is_marked(world);
  const std::uint32_t at = cell_plus_one - 19;
  return at < off_node().count && off_node().keys[at] == world + 1;
}

// False when the communicator's last peer is not who it is.
bool counted_right(Comm& comm) {
  Peers* peers = ondeloc::peers_of(&comm);
  const auto last = static_cast<std::uint32_t>(comm.size - 1);
  if (peers->comm != &comm || peers->size != last + 1) return false;
  std::uint64_t place = peers->cell_code(last);
  if (place == 0) place = ondeloc::peers_translate(peers, &comm, comm.size - 1);
  const auto world = static_cast<std::uint32_t>(comm.world_of(comm.size - 1));
  return place >> 32 == world && is_cell_of(static_cast<std::uint32_t>(place), world);
}

// Small ones and some that need more than a page; another size and another world rank each round.
void give_sizes(std::vector<Comm>& comms, int round) {
  for (std::size_t i = 0; i < comms.size(); ++i) {
    const int n = static_cast<int>(i) + round;
    comms[i] = {n % 9 == 0 ? 1500 : 1 + n % 3, n % 5, 1 + n % 2};
  }
}

// All alive at once, then freed in another order. Whether all was right.
bool use_all(std::vector<Comm>& comms, std::set<Peers*>& seen) {
  bool good = true;
  for (int turn = 0; turn < 2; ++turn)
    for (Comm& comm : comms) good = counted_right(comm) && good;
  for (Comm& comm : comms) seen.insert(ondeloc::peers_of(&comm));
  for (std::size_t i = 0; i < comms.size(); ++i)
    ondeloc::peers_forget(&comms[i * 7 % comms.size()]);
  return good;
}

}  // namespace

TEST_CASE(
    "many communicators at once, freed and made again, count right and what named them stays "
    "readable") {
  start_peers();
  std::vector<Comm> comms(200);
  std::set<Peers*> seen;
  for (int round = 0; round < 9; ++round) {
    give_sizes(comms, round);
    REQUIRE(use_all(comms, seen));
    for (const Peers* peers : seen) CHECK(peers->comm == nullptr);
  }
  // The large ones are other communicators each round: no more than all of them, in both sizes.
  CHECK(seen.size() < 2 * comms.size());
}

TEST_CASE("threads make and free communicators at once") {
  start_peers();
  std::vector<char> good(4, 1);
  std::vector<std::thread> threads;
  for (char& mine : good)
    threads.emplace_back([&mine] {
      std::vector<Comm> comms(100);
      std::set<Peers*> seen;
      for (int round = 0; round < 20; ++round) {
        give_sizes(comms, round);
        if (!use_all(comms, seen)) mine = 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(good == std::vector<char>(4, 1));
}

namespace {

// Counts the walks through the world until all peers are known; -1 if a peer is translated wrongly.
int walks_for(Comm comm) {
  walks = 0;
  Peers* peers = ondeloc::peers_of(&comm);
  bool good = true;
  for (int peer = 0; peer < comm.size; ++peer) {
    const auto world = static_cast<std::uint32_t>(comm.world_of(peer));
    good = good && ondeloc::peers_translate(peers, &comm, peer) >> 32 == world;
  }
  ondeloc::peers_forget(&comm);
  return good ? walks.load() : -1;
}

}  // namespace

TEST_CASE("the world in its order, its rows and its columns are known without a walk for each") {
  start_peers();
  CHECK(walks_for({kWorld}) == 0);
  CHECK(walks_for({50, 1000}) <= 2);
  CHECK(walks_for({80, 7, 50}) <= 2);
  CHECK(walks_for({80, 3999, -50}) <= 3);
  std::vector<int> mixed(kWorld);
  for (int i = 0; i < static_cast<int>(kWorld); ++i)
    mixed[static_cast<std::size_t>(i)] = i * 1237 % static_cast<int>(kWorld);
  CHECK(walks_for({kWorld, 0, 0, mixed}) >= 0);
  // These ranks belong to another job, so they are unknown here.
  Comm others{4, 5000};
  Peers* peers = ondeloc::peers_of(&others);
  CHECK(static_cast<std::uint32_t>(ondeloc::peers_translate(peers, &others, 2)) == 9);
  ondeloc::peers_forget(&others);
}

TEST_CASE("windows have the ranks of their group, and a freed one may come back with others") {
  start_peers();
  Comm window{4, 3, 2};
  for (const int first : {3, 0}) {
    window.first = first;
    Peers* peers = ondeloc::peers_of_window(&window, true);
    REQUIRE(peers->size == 4);
    CHECK(ondeloc::peers_translate(peers, &window, 2) >> 32 ==
          static_cast<std::uint64_t>(first + 4));
    ondeloc::peers_forget(&window);
  }
  CHECK(ondeloc::peers_of_window(&window, false)->size == 0);
  CHECK(ondeloc::peers_of_window(&window, true)->size == 0);  // once said, until it is freed
  ondeloc::peers_forget(&window);
}

TEST_CASE("fetched data has the same cell in the second half of the row") {
  start_peers();
  const std::uint64_t sent = ondeloc::cell_code_of_world(5);
  CHECK(ondeloc::fetched_cell_code(sent) == ((std::uint64_t{0x80000005} << 32) | (6 + 9)));
  const std::uint64_t far = ondeloc::cell_code_of_world(50);
  CHECK(ondeloc::fetched_cell_code(far) == far + (std::uint64_t{1} << 63) + off_node().count);
  const std::uint64_t other_job = ondeloc::cell_code_of_world(-1);
  CHECK(static_cast<std::uint32_t>(ondeloc::fetched_cell_code(other_job)) == 18);
}

TEST_CASE("peers off the node that find no cell of their own share the off-node cell") {
  start_peers();
  int own = 0, shared = 0;
  for (std::uint32_t world = 8; world < kWorld; ++world) {
    const auto cell =
        static_cast<std::uint32_t>(ondeloc::cell_code_of_world(static_cast<int>(world)));
    if (cell == 9)
      ++shared;
    else
      own += is_cell_of(cell, world) ? 1 : 0;
  }
  CHECK(own == 1024);
  CHECK(own + shared == static_cast<int>(kWorld) - 8);
  // A rank keeps its cell.
  for (std::uint32_t world = 8; world < 1032; ++world)
    CHECK(is_cell_of(
        static_cast<std::uint32_t>(ondeloc::cell_code_of_world(static_cast<int>(world))), world));
}

TEST_CASE("the sum of messages has the cells of all peers that were met, and reads no others") {
  start_peers();
  Peers* peers = ondeloc::peers_of(&world_group);
  const auto cell_of = [&](int world) -> ondeloc_cell& {
    const std::uint64_t code = ondeloc::peers_translate(peers, &world_group, world);
    return row[static_cast<std::uint32_t>(code) - 1];
  };
  CHECK(ondeloc::messages_sent() == 0);
  cell_of(3).messages = 1;
  cell_of(7).messages = 20;
  cell_of(2900).messages = 300;
  cell_of(3999).messages = 4000;
  row[8].messages = 50000;  // ranks off the node that have no cell
  CHECK(ondeloc::messages_sent() == 54321);
  row[5].messages = 1000000;  // of nobody that was met
  off_node().sent[off_node().claim(100)].messages = 1000000;
  ondeloc::used_cells_of(row.data(), 8, kWorld).words[0] |= 1ULL << 40;  // no such rank
  row[40].messages = 1000000;
  CHECK(ondeloc::messages_sent() == 54321);
  ondeloc::peers_forget(&world_group);
}
