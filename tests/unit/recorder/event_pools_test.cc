// SPDX-License-Identifier: Apache-2.0
#include "mapcore/recorder/event_pools.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "mapcore/segment/channel_writer.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

// The memory of a channel, zeroed as the segment's is.
class PoolMemory {
 public:
  PoolMemory(std::uint32_t ranks, std::uint32_t cells)
      : size_(ondeloc_channel_size(ranks, cells)),
        base_(static_cast<char*>(
            mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  PoolMemory(const PoolMemory&) = delete;
  PoolMemory& operator=(const PoolMemory&) = delete;
  ~PoolMemory() { munmap(base_, size_); }
  char* base() const { return base_; }

 private:
  std::size_t size_;
  char* base_;
};

struct Seen {
  std::uint32_t local;
  std::uint64_t time, bytes;
  std::uint32_t world;
};

EventPools::Take keep(std::vector<Seen>& out) {
  return [&out](std::uint32_t local, std::uint64_t base, std::span<const ondeloc_event> events) {
    for (const ondeloc_event& e : events)
      out.push_back({local, base + e.after_ns, e.bytes, e.world});
  };
}

}  // namespace

TEST_CASE("events come out in order, whole cells first, then the unfinished cell") {
  const PoolMemory memory(2, 4);
  ChannelWriter writer;
  writer.start(memory.base(), 2, 4, 1);
  EventPools pools(memory.base(), 2, 4);
  for (std::uint64_t i = 0; i < 1200; ++i) writer.write(1000 + i, 7, i);
  std::vector<Seen> seen;
  CHECK(pools.drain(keep(seen)) == 2 * ONDELOC_EVENTS_PER_CELL);
  CHECK(pools.drain_unfinished(keep(seen)) == 1200 - 2 * ONDELOC_EVENTS_PER_CELL);
  CHECK(pools.drain_unfinished(keep(seen)) == 0);
  writer.write(9000, 3, 77);
  CHECK(pools.drain_unfinished(keep(seen)) == 1);
  REQUIRE(seen.size() == 1201);
  for (std::uint64_t i = 0; i < 1200; ++i) {
    CHECK(seen[i].time == 1000 + i);
    CHECK(seen[i].bytes == i);
  }
  CHECK(seen[1200].time == 9000);
  CHECK(seen[1200].world == 3);
  CHECK(seen[1200].local == 1);
  CHECK(pools.drops(1).events == 0);
}

TEST_CASE("a cell read in part gives the rest once it is queued") {
  const PoolMemory memory(1, 2);
  ChannelWriter writer;
  writer.start(memory.base(), 1, 2, 0);
  EventPools pools(memory.base(), 1, 2);
  std::vector<Seen> seen;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    writer.write(i, 0, i);
    if (i % 100 == 0) {
      pools.drain(keep(seen));
      pools.drain_unfinished(keep(seen));
    }
  }
  pools.drain(keep(seen));
  pools.drain_unfinished(keep(seen));
  REQUIRE(seen.size() == 2000);
  for (std::uint64_t i = 0; i < 2000; ++i) CHECK(seen[i].bytes == i);
}

TEST_CASE("a rank that talks seldom closes its cell before the clock overflows") {
  const PoolMemory memory(1, 2);
  ChannelWriter writer;
  writer.start(memory.base(), 1, 2, 0);
  EventPools pools(memory.base(), 1, 2);
  std::vector<Seen> seen;
  for (std::uint64_t i = 0; i < 20; ++i) {
    writer.write(i * 5'000'000'000ULL, 0, i);
    pools.drain(keep(seen));
  }
  pools.drain_unfinished(keep(seen));
  REQUIRE(seen.size() == 20);
  for (std::uint64_t i = 0; i < 20; ++i) CHECK(seen[i].time == i * 5'000'000'000ULL);
}

TEST_CASE("if nobody drains, the rank goes on, counts its drops, and recovers later") {
  const PoolMemory memory(1, 4);
  ChannelWriter writer;
  writer.start(memory.base(), 1, 4, 0);
  EventPools pools(memory.base(), 1, 4);
  const std::uint64_t room = 4 * ONDELOC_EVENTS_PER_CELL;
  for (std::uint64_t i = 0; i < room + 1000; ++i) writer.write(i, 0, 10);
  CHECK(pools.drops(0).events == 1000);
  CHECK(pools.drops(0).bytes == 10000);
  std::vector<Seen> seen;
  CHECK(pools.drain(keep(seen)) == room);
  writer.write(1, 0, 10);
  CHECK(pools.drops(0).events == 1000);
  CHECK(pools.drain_unfinished(keep(seen)) == 1);
}

TEST_CASE("nonsense in the channel is not followed") {
  const PoolMemory memory(1, 4);
  ChannelWriter writer;
  writer.start(memory.base(), 1, 4, 0);
  EventPools pools(memory.base(), 1, 4);
  ondeloc_pool* pool = ondeloc_pool_at(memory.base(), 1, 4, 0);
  std::vector<Seen> seen;
  *ondeloc_queued(memory.base(), 0) = 1;
  pool->queue[0] = 4000000000U;
  CHECK(pools.drain(keep(seen)) == 0);
  pool->queue[0] = 2;
  ondeloc_event_cells(pool)[2].count = 4000000000U;
  CHECK(pools.drain(keep(seen)) == ONDELOC_EVENTS_PER_CELL);
  pool->current = 77;
  CHECK(pools.drain_unfinished(keep(seen)) == 0);
}

TEST_CASE("a rank that says it has queued more cells than it has is not followed") {
  const PoolMemory memory(2, 4);
  ChannelWriter broken, whole;
  broken.start(memory.base(), 2, 4, 0);
  whole.start(memory.base(), 2, 4, 1);
  EventPools pools(memory.base(), 2, 4);
  for (std::uint64_t i = 0; i < 600; ++i) broken.write(i, 0, 1), whole.write(i, 0, 1);
  std::vector<Seen> seen;
  for (const std::uint64_t queued : {std::uint64_t{5}, std::uint64_t{UINT64_MAX}}) {
    *ondeloc_queued(memory.base(), 0) = queued;
    pools.drain(keep(seen));
  }
  CHECK(seen.size() == ONDELOC_EVENTS_PER_CELL);
  CHECK(std::all_of(seen.begin(), seen.end(), [](const Seen& e) { return e.local == 1; }));
}

TEST_CASE(
    "ranks write while the recorder reads: every message that is not dropped arrives once, in "
    "order") {
  constexpr std::uint32_t kRanks = 3;
  constexpr std::uint64_t kEvents = 200'000;
  const PoolMemory memory(kRanks, 8);
  std::atomic<std::uint32_t> running{kRanks};
  std::vector<std::thread> ranks;
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    ranks.emplace_back([&, r] {
      ChannelWriter writer;
      writer.start(memory.base(), kRanks, 8, r);
      for (std::uint64_t i = 0; i < kEvents; ++i) writer.write(monotonic_ns(), r, i);
      --running;
    });
  }
  EventPools pools(memory.base(), kRanks, 8);
  std::vector<Seen> seen;
  bool last = false;
  while (!last) {
    last = running == 0;
    pools.drain(keep(seen));
    pools.drain_unfinished(keep(seen));
  }
  for (std::thread& rank : ranks) rank.join();
  std::uint64_t dropped = 0;
  for (std::uint32_t r = 0; r < kRanks; ++r) {
    std::uint64_t before = 0, count = 0;
    bool ordered = true;
    for (const Seen& e : seen) {
      if (e.local != r) continue;
      ordered &= count == 0 || e.bytes > before;
      before = e.bytes;
      ++count;
    }
    CHECK(ordered);
    CHECK(count + pools.drops(r).events == kEvents);
    dropped += pools.drops(r).events;
  }
  CHECK(seen.size() + dropped == kRanks * kEvents);
}

TEST_CASE("a message that gets no turn is counted at once, also when it is the last") {
  const PoolMemory memory(1, 4);
  ChannelWriter writer;
  writer.start(memory.base(), 1, 4, 0);
  const EventPools pools(memory.base(), 1, 4);
  REQUIRE(writer.take_turn());
  std::thread([&] { writer.write_shared(0, 77); }).join();
  writer.end_turn();
  CHECK(pools.drops(0).events == 1);
  CHECK(pools.drops(0).bytes == 77);
  CHECK(pools.drops(0).crowded == 1);
}

TEST_CASE("several threads of one rank: nothing is counted twice or lost without a count") {
  constexpr std::uint64_t kEvents = 50'000;
  const PoolMemory memory(1, 64);
  ChannelWriter writer;
  writer.start(memory.base(), 1, 64, 0);
  std::atomic<int> running{2};
  std::vector<std::thread> threads;
  for (std::uint32_t t = 0; t < 2; ++t) {
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < kEvents; ++i) writer.write_shared(t, 1);
      --running;
    });
  }
  EventPools pools(memory.base(), 1, 64);
  std::vector<Seen> seen;
  while (running > 0) pools.drain(keep(seen));
  for (std::thread& thread : threads) thread.join();
  pools.drain(keep(seen));
  pools.drain_unfinished(keep(seen));
  CHECK(seen.size() + pools.drops(0).events == 2 * kEvents);
  CHECK(std::is_sorted(seen.begin(), seen.end(),
                       [](const Seen& a, const Seen& b) { return a.time < b.time; }));
}
