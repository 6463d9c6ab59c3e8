// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/placement.h"

#include <unistd.h>

#include <cstdint>
#include <vector>

#include "mapcore/binding/affinity.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/step/waiting_ranks.h"

using namespace ondeloc;

namespace {

constexpr int kAbsentCpu = 1023;

std::vector<std::uint64_t> words_of(int cpu) {
  std::vector<std::uint64_t> words(16);
  words[static_cast<std::size_t>(cpu / 64)] = std::uint64_t{1} << (cpu % 64);
  return words;
}

CpuSet only(int cpu) {
  CpuSet cpus;
  cpus.set(PuOs(cpu));
  return cpus;
}

}  // namespace

TEST_CASE("a rank that cannot be bound keeps its CPU, and no other rank gets it") {
  const auto own = get_affinity(0);
  REQUIRE(own);
  std::vector<int> cpus;
  for (const PuOs cpu : own->to_vector()) cpus.push_back(cpu.value);
  if (cpus.size() < 2 || cpus[1] >= kAbsentCpu || sysconf(_SC_NPROCESSORS_CONF) > kAbsentCpu)
    return;  // there is no exchange, or no CPU that the kernel refuses
  const Machine machine = *load_machine("numa:2 core:512 pu:1");
  const WaitingRanks waiting({words_of(cpus[0]), words_of(cpus[1]), words_of(kAbsentCpu)});
  for (std::size_t i = 0; i < 2; ++i) REQUIRE(set_affinity(waiting.pid(i), only(cpus[i])));
  Ranks ranks(3);
  ranks.refresh(waiting.view());
  auto placement = Placement::plan(machine, ranks, 1, Memory::kStay, true);
  REQUIRE(placement);
  const LocalRank first(0), second(1), third(2);
  ranks.at(third).detached = true;
  const Mapping before = placement->current();
  // The kernel refuses the first move; each of the others would take the CPU of the one before.
  Mapping wanted = before;
  wanted[first] = before[third];
  wanted[second] = before[first];
  wanted[third] = before[second];
  CHECK(placement->apply(wanted, ranks).moved.empty());
  CHECK(placement->current() == before);
  CHECK(*get_affinity(waiting.pid(0)) == only(cpus[0]));
  CHECK(*get_affinity(waiting.pid(1)) == only(cpus[1]));
  CHECK(placement->bindings().mask_of(second) == only(cpus[1]));
  CHECK(placement->bindings()[second].migrations == 0);
  CHECK_FALSE(placement->awaits_ranks());
  // It is not tried again at each look.
  CHECK(placement->without_pinned(wanted, ranks)[first] == before[first]);
}
