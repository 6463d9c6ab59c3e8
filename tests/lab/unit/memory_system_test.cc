// SPDX-License-Identifier: MIT
#include "tests/lab/plugin/memory_system.h"

#include <random>
#include <thread>
#include <vector>

#include "tests/lab/plugin/shared_cache.h"
#include "tests/lab/plugin/streams.h"
#include "tests/unit/catch.h"

using namespace numalab;

namespace {

constexpr std::uint64_t kNodeBytes = 1 << 30;
constexpr std::uint64_t kSecondNode = kNodeBytes / 64;

struct Fixture {
  explicit Fixture(const std::string& name, int threads = 1)
      : machine(described(name, threads)), memory(machine, kNodeBytes, 1'000'000) {}
  static Machine described(const std::string& name, int threads) {
    Machine machine = read_machine(std::string(NUMALAB_MACHINES) + "/" + name + ".json");
    machine.threads_per_core = threads;
    return machine;
  }
  Cost access(int core, std::uint64_t line, bool store = false, std::uint64_t now = 1'000'000) {
    return memory.access(core, line, store, now, counters);
  }
  double ns(int core, std::uint64_t line, bool store = false) {
    return static_cast<double>(access(core, line, store).latency_ps) / 1000;
  }
  Machine machine;
  MemorySystem memory;
  Counters counters;
};

}  // namespace

TEST_CASE("a line comes from local memory, remote memory, and then from the cache") {
  Fixture lab("xeon2");
  CHECK(lab.ns(0, 100) == Approx(10 + 60));
  CHECK(lab.ns(1, 100) == Approx(10));  // of the same last-level cache
  CHECK(lab.ns(0, kSecondNode + 5) == Approx(10 + 60 + 100));
  CHECK(lab.counters.memory_local == 1);
  CHECK(lab.counters.memory_remote == 1);
  CHECK(lab.memory.private_cache(0).hit(100, false, 0));
  CHECK_FALSE(lab.memory.private_cache(0).hit(100, true, 0));  // not without asking the others
  CHECK(lab.memory.interconnect().controller(1).bytes == 64);
  CHECK(lab.memory.interconnect().link(1).bytes == 72);  // from node 1 to node 0
}

TEST_CASE("cores that replace lines of one set at the same time do not disturb each other") {
  Fixture lab("epyc1");
  const SharedCache cache(lab.machine.llc);
  std::vector<std::uint64_t> lines;  // of one set, more than it has ways
  for (std::uint64_t line = 1; lines.size() < 3 * lab.machine.llc.ways; ++line)
    if (cache.set_of(line) == 0) lines.push_back(line);
  for (const std::uint64_t line : lines)
    REQUIRE(lab.memory.lock_of(line) == lab.memory.lock_of(lines[0]));
  std::vector<std::thread> cores;
  std::vector<Counters> counters(static_cast<std::size_t>(lab.machine.cores()));
  for (int core = 0; core < lab.machine.cores(); ++core) {
    cores.emplace_back([&, core] {
      std::minstd_rand random(static_cast<unsigned>(core) + 1);
      for (int i = 0; i < 20000; ++i)
        lab.memory.access(core, lines[random() % lines.size()], random() % 3 == 0, 1'000'000,
                          counters[static_cast<std::size_t>(core)]);
    });
  }
  for (std::thread& core : cores) core.join();
  std::uint64_t fetched = 0;
  for (const Counters& each : counters) fetched += each.llc_misses;
  CHECK(fetched > 0);
}

TEST_CASE("a line that another core has changed comes from that core's cache") {
  Fixture lab("xeon2");
  lab.access(0, 100, true);
  CHECK(lab.memory.private_cache(0).hit(100, true, 0));
  CHECK(lab.ns(1, 100) == Approx(10 + 20));
  CHECK_FALSE(lab.memory.private_cache(0).hit(100, true, 0));  // both have it now
  lab.access(1, 100, true);
  CHECK_FALSE(lab.memory.private_cache(0).hit(100, false, 0));
  CHECK(lab.ns(4, 100) == Approx(10 + 20 + 100));  // of the other node
  CHECK(lab.counters.cache_other_node == 1);
  CHECK(lab.counters.cache_same_llc == 1);
  CHECK(lab.ns(4, 100, true) == Approx(10 + 100));  // the copies of node 0 go
  CHECK_FALSE(lab.memory.private_cache(1).hit(100, false, 0));
  CHECK(lab.counters.invalidations_far == 1);
}

TEST_CASE(
    "on EPYC a hand-over costs 25, 115 and 267 ns, and 267 ns in one socket for a line of the "
    "other") {
  const auto handover = [](int from, int to, std::uint64_t line) {
    Fixture lab("epyc2");
    lab.access(from, line, true);
    lab.access(to, line);  // both have the line
    return lab.ns(from, line, true) + lab.ns(to, line);
  };
  CHECK(handover(0, 1, 100) == Approx(25));
  CHECK(handover(0, 2, 100) == Approx(115));
  CHECK(handover(0, 4, 100) == Approx(267));
  CHECK(handover(0, 2, kSecondNode + 1) == Approx(267));
}

TEST_CASE("a line that the other thread of the core has changed does not leave the core") {
  Fixture lab("epyc2", 2);
  CHECK(lab.ns(0, 100) == Approx(10 + 90));
  CHECK(lab.ns(1, 100) == Approx(0));  // the core has it
  CHECK(lab.ns(0, 100, true) ==
        Approx(10));  // others may have it: the last-level cache has to be asked
  CHECK_FALSE(lab.memory.private_cache(1).hit(100, false, 0));
  CHECK(lab.ns(1, 100) == Approx(8));
  CHECK_FALSE(lab.memory.private_cache(0).hit(100, true, 0));
  CHECK(lab.ns(1, 100, true) == Approx(0));  // the core owns it
  CHECK_FALSE(lab.memory.private_cache(0).hit(100, false, 0));
  CHECK(lab.ns(0, 100, true) == Approx(8));
  CHECK(lab.counters.sibling_hits == 4);
  CHECK(lab.ns(2, 100) == Approx(10 + 5));  // of another core
  CHECK(lab.ns(1, 100) == Approx(0));
  CHECK(lab.ns(1, 100, true) == Approx(10));
  for (const int vcpu : {0, 2}) CHECK_FALSE(lab.memory.private_cache(vcpu).hit(100, false, 0));
}

TEST_CASE("the threads of a core share the room of its cache") {
  Fixture lab("xeon2", 2);
  const std::uint64_t lines = lab.machine.private_cache.kib * 1024 / 64;
  const auto left = [&](int vcpu) {
    std::uint64_t held = 0;
    for (std::uint64_t i = 1; i <= lines; ++i) held += lab.memory.private_cache(vcpu).holds(i);
    return held;
  };
  for (std::uint64_t i = 1; i <= lines; ++i) lab.access(0, i);
  CHECK(left(0) == lines);
  CHECK(left(1) == 0);
  for (std::uint64_t i = lines + 1; i <= lines + lines / 2; ++i) lab.access(1, i);
  CHECK(left(0) == lines / 2);
}

TEST_CASE("a thread sees what the other thread of its core wrote at the time of the write") {
  Fixture lab("xeon2", 2);
  lab.access(0, 100, false, 1'000'000);
  for (std::uint64_t now = 1'002'000; now <= 1'800'000; now += 2'000)
    CHECK(lab.memory.private_cache(0).hit(100, false, now));
  lab.access(1, 100, true, 1'100'000);  // done at 1.11 us
  SECTION("the host ran it ahead of the writer") {
    const std::uint64_t began = lab.access(0, 100, false, 1'802'000).began_ps;
    CHECK(began >= 1'110'000);
    CHECK(began < 1'112'000);
  }
  SECTION("it was slowed down for its last instructions, all at once") {
    lab.memory.private_cache(0).caught_up(2'134'000, 334'000);
    lab.memory.private_cache(0).caught_up(2'136'000, 1'000);
    const std::uint64_t began = lab.access(0, 100, false, 2'136'000).began_ps;
    CHECK(began >= 1'110'000);
    CHECK(began < 1'112'000);
  }
}

TEST_CASE("without distance every cache and every node is as near as the own one") {
  Fixture lab("epyc2");
  lab.memory.interconnect().set_distance(false);
  lab.access(0, 100, true);
  CHECK(lab.ns(4, 100) == Approx(10 + 5));
  CHECK(lab.ns(0, kSecondNode + 5) == Approx(10 + 90));
}

TEST_CASE("the last-level cache holds what its cores hold: a line that leaves it leaves them") {
  Fixture lab("xeon2");
  lab.access(0, 7, true);
  const std::uint64_t lines = 2 * lab.machine.llc.sets() * lab.machine.llc.ways;
  for (std::uint64_t i = 1; i <= lines; ++i) lab.access(1, 7 + i);
  CHECK_FALSE(lab.memory.private_cache(0).hit(7, false, 0));
  CHECK(lab.memory.interconnect().controller(0).bytes == 64 * (lines + 2));
}

TEST_CASE("lines that lie far apart do not meet in few sets of the last-level cache") {
  Fixture lab("xeon2");
  const std::uint64_t sets = lab.machine.llc.sets(), lines = sets * lab.machine.llc.ways / 2;
  for (std::uint64_t i = 0; i < lines; ++i) lab.access(0, 7 + sets * i);
  const std::uint64_t before = lab.memory.interconnect().controller(0).bytes;
  for (std::uint64_t i = 0; i < lines; ++i) lab.access(1, 7 + sets * i);
  const std::uint64_t again = lab.memory.interconnect().controller(0).bytes - before;
  CHECK(again < 64 * lines / 10);
}

TEST_CASE("a core that polls sees a write at the time of the write") {
  Fixture lab("xeon2");
  PrivateCache& poller = lab.memory.private_cache(0);
  lab.access(0, 100, false, 1'000'000);
  for (std::uint64_t now = 1'002'000; now <= 1'800'000; now += 2'000)
    CHECK(poller.hit(100, false, now));
  SECTION("the host ran it ahead of the writer") {
    lab.access(4, 100, true, 1'100'000);  // done at 1.31 us: 10 + 100 and what it takes from memory
    const Cost cost = lab.access(0, 100, false, 1'802'000);
    CHECK(cost.began_ps > 1'200'000);
    CHECK(cost.began_ps < 1'350'000);
    CHECK(lab.counters.set_backs == 1);
  }
  SECTION("the host ran the writer ahead of it") {
    lab.access(4, 100, true, 2'500'000);
    CHECK(lab.access(0, 100, false, 1'802'000).began_ps > 2'500'000);
    CHECK(lab.counters.set_forwards == 1);
  }
  SECTION("it does other work for longer than the window") {
    lab.access(4, 100, true, 1'100'000);
    CHECK(lab.access(0, 100, false, 3'500'000).began_ps == 3'500'000);
  }
}

TEST_CASE("a line that left the cache and came back is not taken for a write") {
  Fixture lab("xeon2");
  PrivateCache& poller = lab.memory.private_cache(0);
  lab.access(0, 7, false, 900'000'000);
  for (std::uint64_t now = 900'002'000; now <= 900'010'000; now += 2'000) poller.hit(7, false, now);
  const std::uint64_t sets = lab.machine.llc.sets();
  for (unsigned i = 1; i <= lab.machine.llc.ways; ++i) {
    lab.access(1, 7 + sets * i, false, 900'010'000);
  }
  lab.access(1, 7, false, 900'011'000);
  CHECK(lab.access(0, 7, false, 900'012'000).began_ps == 900'012'000);
  CHECK(lab.counters.set_backs == 0);
}

TEST_CASE("a core that reads and writes a line in turns with another is not put back") {
  Fixture lab("xeon2");
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t now = 1'000'000 + i * 1000;
    if (!lab.memory.private_cache(0).hit(100, true, now)) lab.access(0, 100, true, now);
    if (!lab.memory.private_cache(4).hit(100, true, now - 500'000))
      lab.access(4, 100, true, now - 500'000);
  }
  CHECK(lab.counters.set_backs == 0);
  CHECK(lab.counters.set_forwards == 0);
}

TEST_CASE("a stream is three neighbouring misses, also of sixteen streams at once") {
  Streams streams;
  CHECK_FALSE(streams.continues(100));
  CHECK_FALSE(streams.continues(101));
  CHECK(streams.continues(102));
  CHECK(streams.continues(102));  // first read, then written
  CHECK_FALSE(streams.continues(500));
  Streams many;
  int sure = 0;
  for (std::uint64_t i = 0; i < 10; ++i) {
    for (std::uint64_t k = 0; k < 16; ++k) sure += many.continues(k * 10'000 + i);
  }
  CHECK(sure == 16 * 8);
}
