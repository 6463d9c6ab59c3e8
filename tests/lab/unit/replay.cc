// SPDX-License-Identifier: MIT
// Measures a machine as guest/lab_validate.c does, without a guest: the same accesses and numbers
// of instructions go to the plugin's parts, always those of the vCPU that is behind.
//   lab_replay MACHINE.json < lines of lab_validate's words; one figure a line
#include <algorithm>
#include <array>
#include <cstdio>
#include <iostream>
#include <numeric>
#include <random>
#include <sstream>
#include <vector>

#include "tests/lab/plugin/lab.h"

namespace numalab {
namespace {

constexpr std::uint64_t kLine = CacheSize::kLineBytes, kNodeMib = 1024;

class Replay {
 public:
  explicit Replay(const Machine& machine)
      : machine_(machine), lab_(settings(), machine), counters_(64 * 16) {
    for (int i = 0; i < machine.vcpus(); ++i) {
      lab_.pacer().bind(i, &counters_[static_cast<std::size_t>(i) * 16]);
    }
    lab_.pacer().start(0);
  }
  // Eight loads and a branch of two instructions.
  double chase_ns(int cpu, int node, std::uint64_t kib) {
    constexpr std::uint64_t kHops = 40'000;
    std::vector<std::uint64_t> order(kib * 1024 / kLine);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937_64(1));
    lab_.pacer().resumed(cpu);
    const auto follow = [&](std::uint64_t hops) {
      const std::uint64_t begin = lab_.pacer().now(cpu);
      for (std::uint64_t i = 0; i < hops; ++i) {
        if (i % 8 == 0) run(cpu, 10);
        lab_.access(cpu, base(node) + kLine * order[i % order.size()], false);
      }
      return static_cast<double>(lab_.pacer().now(cpu) - begin) / 1000 / static_cast<double>(hops);
    };
    if (order.size() < kHops) follow(order.size() * 2);
    return follow(kHops);
  }
  // Eight loads and three instructions of the loop.
  double stream_gbytes(int node, const std::vector<int>& cpus) {
    constexpr std::uint64_t kBytes = 2 << 20;
    std::vector<std::uint64_t> done(cpus.size());
    double gbytes = 0;
    for (const int cpu : cpus) lab_.pacer().resumed(cpu);
    for (std::vector<std::size_t> left = numbers(cpus.size()); !left.empty();) {
      const std::size_t i = *std::min_element(left.begin(), left.end(), [&](auto a, auto b) {
        return lab_.pacer().now(cpus[a]) < lab_.pacer().now(cpus[b]);
      });
      const std::uint64_t place = base(node) + kBytes * i + done[i];
      if (done[i] % (8 * kLine) == 0) run(cpus[i], 11);
      lab_.access(cpus[i], place, false);
      done[i] += kLine;
      if (done[i] < kBytes) continue;
      gbytes += static_cast<double>(kBytes) * 1000 / static_cast<double>(lab_.pacer().now(cpus[i]));
      lab_.pacer().went_idle(cpus[i]);
      left.erase(std::find(left.begin(), left.end(), i));
    }
    return gbytes;
  }
  // Three instructions of a poll, five from the one that finds the value to the own write.
  double handover_ns(int a, int b, int node) {
    constexpr std::uint64_t kTurns = 4000;
    const std::array<int, 2> cpus{a, b};
    for (const int cpu : cpus) lab_.pacer().resumed(cpu);
    for (std::uint64_t turn = 0; turn < kTurns;) {
      const std::size_t side = lab_.pacer().now(a) <= lab_.pacer().now(b) ? 0 : 1;
      run(cpus[side], 3);
      lab_.access(cpus[side], base(node), false, {turn, 4});
      if (turn % 2 != side) continue;
      run(cpus[side], 5);
      lab_.access(cpus[side], base(node), true, {++turn, 4});
    }
    const std::uint64_t end = std::max(lab_.pacer().now(a), lab_.pacer().now(b));
    return static_cast<double>(end) / 1000 / kTurns;
  }

 private:
  static Settings settings() {
    Settings settings;
    settings.node_mib = kNodeMib;
    settings.pacing.patience_us = 0;  // one thread runs all vCPUs: none may wait for another
    return settings;
  }
  static std::vector<std::size_t> numbers(std::size_t count) {
    std::vector<std::size_t> list(count);
    std::iota(list.begin(), list.end(), std::size_t{0});
    return list;
  }
  static std::uint64_t base(int node) {
    return (static_cast<std::uint64_t>(node) * kNodeMib + 16) << 20;
  }
  void run(int vcpu, unsigned instructions) {
    lab_.pacer().add(vcpu, instructions * lab_.ps_per_instruction());
    if (lab_.pacer().unpublished(vcpu) >= lab_.quantum_ps()) lab_.synchronize(vcpu);
  }

  Machine machine_;
  Lab lab_;
  std::vector<std::uint64_t> counters_;
};

double figure(const Machine& machine, std::istringstream words) {
  std::string what;
  std::vector<int> numbers;
  words >> what;
  for (int number = 0; words >> number;) numbers.push_back(number);
  Replay lab(machine);
  if (what == "chase") {
    return lab.chase_ns(numbers.at(0), numbers.at(1), static_cast<std::uint64_t>(numbers.at(2)));
  }
  if (what == "handover") return lab.handover_ns(numbers.at(0), numbers.at(1), numbers.at(2));
  return lab.stream_gbytes(numbers.at(0), {numbers.begin() + 1, numbers.end()});
}

}  // namespace
}  // namespace numalab

int main(int argc, char** argv) {
  try {
    const auto machine = numalab::read_machine(argc > 1 ? argv[1] : "");
    for (std::string line; std::getline(std::cin, line);) {
      std::printf("%.4f\n", numalab::figure(machine, std::istringstream(line)));
    }
    return 0;
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "lab_replay: %s\n", problem.what());
    return 1;
  }
}
