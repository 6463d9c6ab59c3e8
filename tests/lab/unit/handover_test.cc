// SPDX-License-Identifier: MIT
// A line that goes to and fro between two cores, in the order in which QEMU tells of accesses: each
// happens on the host first, the lab is told later, and the host may take the CPU away in between.
#include <array>
#include <atomic>
#include <string>
#include <thread>

#include "tests/lab/plugin/lab.h"
#include "tests/unit/catch.h"

using namespace numalab;

namespace {

constexpr long kTurns = 2000;
constexpr std::uint64_t kAddress = 64 * 1000;

class PingPong {
 public:
  explicit PingPong(const std::string& name, int threads = 1)
      : machine_(described(name, threads)), lab_(settings(), machine_) {
    for (int i = 0; i < machine_.vcpus(); ++i) {
      lab_.pacer().bind(i, &counters_[static_cast<std::size_t>(i) * 16]);
    }
    lab_.pacer().start(0);
  }

  // Mean time of one hand-over in ns. After each store and every so many loads the host takes the
  // CPU away for a while, before the lab is told.
  double run(int a, int b, unsigned delay_us) {
    lab_.pacer().resumed(a);
    lab_.pacer().resumed(b);
    std::thread other([&] { play(b, 1, delay_us); });
    play(a, 0, delay_us);
    other.join();
    const std::uint64_t end = std::max(lab_.pacer().now(a), lab_.pacer().now(b));
    return static_cast<double>(end) / 1000 / kTurns;
  }

 private:
  static Machine described(const std::string& name, int threads) {
    Machine machine = read_machine(std::string(NUMALAB_MACHINES) + "/" + name + ".json");
    machine.threads_per_core = threads;
    return machine;
  }
  static Settings settings() {
    Settings settings;
    settings.node_mib = 1024;
    return settings;
  }
  void block(int vcpu, unsigned instructions) {
    lab_.pacer().add(vcpu, instructions * lab_.ps_per_instruction());
    if (lab_.pacer().unpublished(vcpu) >= lab_.quantum_ps()) lab_.synchronize(vcpu);
  }
  // Short delays are what QEMU's own code takes, long ones are turns of other processes.
  static void lose_cpu(unsigned us) {
    if (us >= 10) std::this_thread::sleep_for(std::chrono::microseconds(us));
    const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(us);
    while (us < 10 && std::chrono::steady_clock::now() < end) {
    }
  }
  void play(int vcpu, long turn, unsigned delay_us) {
    unsigned loads = 0;
    for (; turn < kTurns; turn += 2) {
      for (long read = -1; read != turn;) {
        block(vcpu, 3);
        read = line_.load();
        if (++loads % 64 == 0) lose_cpu(delay_us);
        lab_.access(vcpu, kAddress, false, {static_cast<std::uint64_t>(read), 4});
      }
      block(vcpu, 5);
      line_.store(turn + 1);
      lose_cpu(delay_us);
      lab_.access(vcpu, kAddress, true, {static_cast<std::uint64_t>(turn + 1), 4});
    }
    lab_.pacer().went_idle(vcpu);
  }

  Machine machine_;
  std::array<std::uint64_t, 64 * 16> counters_{};
  Lab lab_;
  std::atomic<long> line_{0};
};

// A write and a read as described, five instructions, and half of a poll.
double described(const std::string& name, int a, int b) {
  const bool epyc = name == "epyc2";
  const double cost = b - a == 1 ? (epyc ? 25 : 40) : b - a == 2 ? (epyc ? 115 : 40) : 267;
  return (name == "xeon2" && b >= 4 ? 240 : cost) + 6.5 * 0.4;
}

}  // namespace

TEST_CASE("a hand-over takes the time of a write and a read, however the host runs the two sides") {
  for (const char* name : {"xeon2", "epyc2"}) {
    for (const int other : {1, 2, 4}) {
      for (const unsigned delay_us : {0U, 1U, 30U}) {
        PingPong lab(name);
        const double ns = lab.run(0, other, delay_us);
        INFO(name << " CPU 0 and " << other << ", delay " << delay_us << " us");
        CHECK(ns == Approx(described(name, 0, other)).epsilon(0.10));
      }
    }
  }
}

// With its own threads running, a core takes longer for its instructions. An old value that is told
// of after the line was taken adds one poll of 2 ns.
TEST_CASE("the threads of a core hand a line over within the core, and others as without them") {
  constexpr double kWithinCore = 8 + 6.5 * 0.4 / 0.6;
  for (const auto& [other, ns] : {std::pair{1, kWithinCore}, {2, 27.6}, {4, 117.6}}) {
    for (const unsigned delay_us : {0U, 1U, 30U}) {
      PingPong lab("epyc2", 2);
      INFO("CPU 0 and " << other << ", delay " << delay_us << " us");
      CHECK(lab.run(0, other, delay_us) == Approx(ns).epsilon(other == 1 ? 0.2 : 0.1));
    }
  }
}

TEST_CASE("a reader that is told of a new value before its writer is told of its store waits") {
  const Machine machine = read_machine(std::string(NUMALAB_MACHINES) + "/xeon2.json");
  Settings settings;
  settings.writer_patience = std::chrono::minutes(1);  // the host may be slow to run the writer
  settings.node_mib = 1024;
  Lab lab(settings, machine);
  lab.pacer().start(0);
  for (const int vcpu : {0, 4}) lab.pacer().resumed(vcpu);
  lab.access(0, kAddress, false, {7, 4});
  lab.access(0, kAddress, false, {7, 4});
  std::thread reader([&] { lab.access(0, kAddress, false, {8, 4}); });
  const volatile std::uint64_t& waiting = lab.pacer().counters(0).overtaken;
  while (waiting == 0) std::this_thread::yield();
  lab.access(4, kAddress, true);
  reader.join();
  CHECK(lab.pacer().counters(0).overtaken == 1);
  CHECK(lab.pacer().counters(0).cache_other_node == 1);
  CHECK(lab.pacer().now(0) >= lab.pacer().now(4) + 130'000);  // it fetched the line afterwards
}

TEST_CASE("a value that nobody tells of is waited for once, and then taken as it is") {
  const Machine machine = read_machine(std::string(NUMALAB_MACHINES) + "/xeon2.json");
  Settings settings;
  settings.node_mib = 1024;
  Lab lab(settings, machine);
  lab.pacer().start(0);
  lab.pacer().resumed(0);
  lab.access(0, kAddress, false, {7, 4});
  lab.access(0, kAddress, false, {7, 4});
  lab.access(0, kAddress, false, {8, 4});  // a device wrote it
  lab.access(0, kAddress, false, {8, 4});
  lab.access(0, kAddress + 1, false, {9, 12});  // another byte of the line
  CHECK(lab.pacer().counters(0).overtaken == 1);
  CHECK(lab.pacer().counters(0).overtaken_in_vain == 1);
}
