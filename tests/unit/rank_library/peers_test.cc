// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/peers.h"

#include <set>
#include <thread>
#include <vector>

#include "tests/unit/catch.h"

using ondeloc::Peers;

namespace {

using Handle = ondeloc::open_mpi::Handle;

// What MPI answers of a communicator: its size, and who its rank 0 is in the world.
struct Comm {
  int size = 0;
  int first = 0;
};

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
int translate(Handle group, int count, const int* ranks, Handle, int* out) {
  for (int i = 0; i < count; ++i) out[i] = comm_of(group).first + ranks[i];
  return 0;
}
int free_nothing(Handle*) { return 0; }

constexpr std::uint32_t kWorld = 4000;

void start_peers() {
  static Comm world{kWorld, 0};
  static std::vector<std::atomic<std::uint32_t>> local(kWorld);
  ondeloc::MpiCalls calls{};
  calls.comm_test_inter = never_inter;
  calls.comm_size = size_of;
  calls.comm_group = group_of;
  calls.group_translate_ranks = translate;
  calls.group_free = free_nothing;
  calls.comm_world = reinterpret_cast<Handle>(&world);
  for (std::uint32_t w = 0; w < 8; ++w) local[w] = w + 1;
  REQUIRE(ondeloc::peers_start(calls, {local.data(), kWorld, 8}));
}

// False when the communicator's last peer is not who it is.
bool counted_right(Comm& comm) {
  Peers* peers = ondeloc::peers_of(&comm);
  const auto last = static_cast<std::uint32_t>(comm.size - 1);
  if (peers->comm != &comm || peers->size != last + 1) return false;
  std::uint64_t place = peers->place(last);
  if (place == 0) place = ondeloc::peers_translate(peers, &comm, comm.size - 1);
  const std::uint32_t world = static_cast<std::uint32_t>(comm.first) + last;
  return place == (std::uint64_t{world} << 32 | (world < 8 ? world + 1 : 9));
}

// Small ones and some that need more than a page; another size and another world rank each round.
void give_sizes(std::vector<Comm>& comms, int round) {
  for (std::size_t i = 0; i < comms.size(); ++i) {
    const int n = static_cast<int>(i) + round;
    comms[i] = {n % 9 == 0 ? 1500 : 1 + n % 3, n % 5};
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
