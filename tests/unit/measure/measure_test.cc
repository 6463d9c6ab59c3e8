// SPDX-License-Identifier: Apache-2.0
#include "mapcore/measure/measure.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string_view>

#include "mapcore/measure/memory_rate.h"
#include "mapcore/measure/ping_pong.h"
#include "mapcore/measure/timing.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/measure/made_node.h"
#include "tests/unit/other_user.h"

using namespace ondeloc;

TEST_CASE("samples: median, spread, and when they are stable") {
  Samples samples;
  CHECK(samples.median() == 0);
  for (int i = 0; i < 5; ++i) samples.add(10);
  CHECK_FALSE(samples.are_stable());
  for (int i = 0; i < 10; ++i) samples.add(10);
  samples.add(1000);
  CHECK(samples.are_stable());
  CHECK(samples.median() == 10);
  CHECK(samples.spread() == 0);
  for (int i = 0; i < 40; ++i) samples.add(20);
  CHECK(samples.median() == 20);
}

TEST_CASE("pairs of a domain share that domain and are of different cores") {
  const Machine machine = *load_machine("package:2 numa:2 l3:2 core:4 pu:2");
  for (int d = 0; d < kDomainCount; ++d) {
    const auto domain = static_cast<Domain>(d);
    const auto pairs = pairs_of_domain(machine, domain);
    CHECK(pairs.empty() == (domain == Domain::kL2));
    CHECK(pairs.size() <= 3);  // all distances are the same
    for (const PuPair& pair : pairs)
      CHECK(shared_domain(machine.seat_of(*machine.find(pair.a)),
                          machine.seat_of(*machine.find(pair.b))) == domain);
  }
}

namespace {

// Four packages in a ring: two of the three others are one link away, and one is two links away.
constexpr const char* kRing = "package:4 numa:1 core:4 pu:1";
const std::vector<double> kDistancesOfRing{10, 16, 22, 16, 16, 10, 16, 22,
                                           22, 16, 10, 16, 16, 22, 16, 10};

bool are_opposite(const PuPair& pair) { return std::abs(pair.a.value / 4 - pair.b.value / 4) == 2; }

}  // namespace

TEST_CASE("pairs of packages have each distance as often as the machine, and differ in both CPUs") {
  Machine ring = *load_machine(kRing);
  ring.distances = kDistancesOfRing;
  const auto pairs = pairs_of_domain(ring, Domain::kMachine);
  REQUIRE(pairs.size() == 6);
  CHECK(std::count_if(pairs.begin(), pairs.end(), are_opposite) == 2);
  std::set<PuOs> first, second;
  for (const PuPair& pair : pairs) {
    CHECK(pair.distance == (are_opposite(pair) ? 22 : 16));
    first.insert(pair.a), second.insert(pair.b);
  }
  CHECK(first.size() > 3);
  CHECK(second.size() > 3);
}

TEST_CASE("pairs of two packages differ in both CPUs") {
  const auto pairs =
      pairs_of_domain(*load_machine("package:2 numa:1 core:24 pu:1"), Domain::kMachine);
  REQUIRE(pairs.size() == 3);
  CHECK(pairs[0].a != pairs[1].a);
  CHECK(pairs[1].a != pairs[2].a);
  CHECK(pairs[0].b != pairs[1].b);
  CHECK(pairs[1].b != pairs[2].b);
}

TEST_CASE("pairs inside one cache are not all neighbours") {
  const auto pairs = pairs_of_domain(*load_machine("l3:1 core:16 pu:1"), Domain::kLlc);
  REQUIRE(pairs.size() == 3);
  CHECK(std::any_of(pairs.begin(), pairs.end(),
                    [](const PuPair& pair) { return std::abs(pair.a.value - pair.b.value) > 3; }));
}

TEST_CASE("two CPUs of this machine answer each other, and read memory", "[cpus]") {
  const Machine machine = *load_machine("host");
  if (machine.allowed.count() < 2) ONDELOC_SKIP("needs two CPUs");
  const auto cpus = machine.allowed.to_vector();
  const auto pair = measure_pair(cpus[0], cpus[1], HomeOf::kReceiver, 0.5);
  // A machine that is busy with other tests may give no answer, which is one sentence.
  if (pair) {
    CHECK(pair->times.latency > 1e-9);
    CHECK(pair->times.bandwidth > 0);
  } else {
    CHECK(pair.error().message().find("too busy") != std::string::npos);
  }
  const auto rates = measure_reads(std::vector<Reader>{{cpus[0], cpus[1]}, {cpus[1], cpus[1]}},
                                   1u << 20, {0.05, 600});
  REQUIRE(rates.ok());
  for (const double rate : *rates) CHECK(rate > 1e6);
}

TEST_CASE("a CPU that is not there is an error, not a crash") {
  CHECK_FALSE(
      measure_reads(std::vector<Reader>{{PuOs(8000), PuOs(8000)}}, 1u << 16, {0.01, 600}).ok());
  CHECK_FALSE(measure_pair(PuOs(8000), PuOs(0), HomeOf::kSender, 0.1).ok());
  CHECK_FALSE(measure_pair(PuOs(0), PuOs(8000), HomeOf::kSender, 0.1).ok());
}

TEST_CASE("a thread that the user may not start is an error, not a crash") {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit two{2, 2};  // root has no such limit
    if (can_change_user() && setuid(kVictim) != 0) _exit(2);
    if (setrlimit(RLIMIT_NPROC, &two) != 0) _exit(3);
    const std::vector<Reader> readers(8, Reader{PuOs(0), PuOs(0)});
    const auto rates = measure_reads(readers, 1u << 16, {0.01, 600});
    const bool told = !rates && rates.error().message().find(" of 8 threads could be started (") !=
                                    std::string::npos;
    _exit(told ? 0 : 1);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

namespace {

// Two packages of four NUMA nodes, each with four caches of 96 MiB for eight cores.
constexpr const char* kLargeNode =
    "package:2 numa:4 l3:4(size=100663296) l2:8(size=1048576) core:1 pu:2";

bool some_note_has(const MachineFile& file, std::string_view text) {
  return std::any_of(file.notes.begin(), file.notes.end(),
                     [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("no measurement takes longer than its budget, however large and slow the node is") {
  for (const double touch_rate : {1e11, 1e9, 3e8, 1e7}) {
    for (const double pairs_overrun : {0.1, 1.0, 2.0}) {
      for (const char* topology : {"numa:1 core:4 pu:1", kLargeNode,
                                   "package:4 numa:8 l3:1(size=33554432) core:16 pu:1"}) {
        MadeNode node(topology);
        node.touch_rate = touch_rate;
        node.pairs_overrun = pairs_overrun;
        const double begin = node.clock;
        CAPTURE(topology, touch_rate, pairs_overrun);
        const auto file = node.measure();
        REQUIRE(file.ok());
        CHECK(node.clock - begin <= kMeasureSeconds);
        CHECK((node.left_out == 0 || some_note_has(*file, "time was too short for: ")));
      }
    }
  }
}

TEST_CASE("a large node with a usual memory is measured whole") {
  MadeNode node(kLargeNode);
  node.pairs_overrun = 1;
  const auto file = node.measure();
  REQUIRE(file.ok());
  CHECK(file->notes.empty());
  CHECK(file->links.size() == 56);
  for (const MeasuredNode& each : file->nodes) {
    CHECK(each.alone == Approx(32e9));
    CHECK(each.shared == Approx(32e9));
  }
  CHECK(file->core_bandwidth == Approx(1e9));
  CHECK(file->port_bandwidth == Approx(8e9));
}

TEST_CASE("the latency of packages in a ring is the mean over all pairs of them") {
  MadeNode node(kRing);
  node.machine.distances = kDistancesOfRing;
  node.latency_of = [](const PuPair& pair) { return are_opposite(pair) ? 160e-9 : 100e-9; };
  const auto file = node.measure();
  REQUIRE(file.ok());
  CHECK(file->domain(Domain::kMachine).latency == Approx(120e-9));
}

TEST_CASE("if time is short, a link of each kind comes first, and a note names the others") {
  MadeNode node(kLargeNode);
  node.touch_rate = 1.5e8;
  node.pairs_overrun = 1;
  const auto file = node.measure();
  REQUIRE(file.ok());
  REQUIRE(file->links.size() >= 2);
  REQUIRE(file->links.size() < 56);
  const auto package = [](int os) { return os / 4; };
  CHECK(package(file->links[0].from) == package(file->links[0].to));
  CHECK(package(file->links[1].from) != package(file->links[1].to));
  CHECK(file->nodes.size() == 8);
  CHECK(some_note_has(*file, fmt::format("time was too short for: links between NUMA nodes ({} of "
                                         "56); measure with more --seconds",
                                         56 - file->links.size())));
  const auto read = parse_machine_file(to_json(*file), "f");
  REQUIRE(read.ok());
  CHECK(read->notes == file->notes);
}

TEST_CASE("figures for which there was no time at all are named, not written as 0") {
  MadeNode node(kLargeNode);
  node.touch_rate = 1e6;
  const auto file = node.measure();
  REQUIRE(file.ok());
  CHECK(file->nodes.empty());
  for (const char* what :
       {"memory from one core (1 of 1)", "memory from one cache (1 of 1)",
        "memory of all NUMA nodes at once (1 of 1)", "memory of each NUMA node (8 of 8)",
        "links between NUMA nodes (56 of 56)"})
    CHECK(some_note_has(*file, what));
}

TEST_CASE("messages that are not stable in time are named") {
  MadeNode node("numa:2 core:4 pu:1");
  node.pairs_are_stable = false;
  const auto file = node.measure();
  REQUIRE(file.ok());
  CHECK(some_note_has(*file,
                      "time was too short to repeat until stable: messages inside one LLC, "
                      "messages inside one machine"));
}

TEST_CASE("the measurement stays below half of the memory that the job's cgroup leaves") {
  MadeNode node(kLargeNode);
  node.pairs_overrun = 1;
  REQUIRE(node.measure().ok());
  const std::size_t unlimited = node.most_memory;
  node.most_memory = 0;
  node.free_in_cgroup = unlimited * 3 / 2;
  REQUIRE(node.measure().ok());
  CHECK(node.most_memory <= *node.free_in_cgroup / 2);
  CHECK(node.most_memory > *node.free_in_cgroup / 3);
  node.free_in_cgroup = unlimited / 8;
  const auto refused = node.measure();
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message().find("the memory limit of the job's cgroup leaves") !=
        std::string::npos);
}

TEST_CASE("inside an allocation the cache with the most cores tells the port of a cache") {
  MadeNode node("numa:1 l3:4 core:4 pu:1");
  node.machine.allowed = *CpuSet::parse_list("0,4-7,9");
  const auto some = node.measure();
  REQUIRE(some.ok());
  CHECK(some->port_bandwidth == Approx(4e9));
  node.machine.allowed = *CpuSet::parse_list("4-7");  // the machine has other caches
  const auto one = node.measure();
  REQUIRE(one.ok());
  CHECK(one->port_bandwidth == Approx(4e9));
}

TEST_CASE("a NUMA node without memory does not end the measurement, and a note names it") {
  MadeNode node("numa:3 core:4 pu:1");
  node.machine.nodes[NodeIndex(0)].memory = 0;
  node.free_on = [](int os) -> std::optional<std::uint64_t> {
    return os == 0 ? 0 : std::uint64_t{1} << 40;
  };
  const auto file = node.measure();
  REQUIRE(file.ok());
  REQUIRE(file->nodes.size() == 2);
  CHECK(file->nodes[0].os == 1);
  CHECK(file->nodes[0].shared == Approx(4e9));
  CHECK(file->nodes[1].shared == Approx(4e9));
  CHECK(file->core_bandwidth == Approx(1e9));
  CHECK(file->links.size() == 2);  // between nodes 1 and 2
  CHECK(some_note_has(*file, "NUMA node 0 has no memory"));
  // Memory that is used up is not a missing memory.
  node.machine.nodes[NodeIndex(0)].memory = std::uint64_t{1} << 40;
  CHECK_FALSE(node.measure().ok());
}

TEST_CASE("a NUMA node whose memory the cgroup does not have is not measured by that of others") {
  MadeNode node("numa:3 core:4 pu:1");
  node.may_use_memory = [](int os) { return os != 1; };
  const auto file = node.measure();
  REQUIRE(file.ok());
  REQUIRE(file->nodes.size() == 2);
  CHECK(file->nodes[1].os == 2);
  CHECK(file->links.size() == 2);  // between nodes 0 and 2
  CHECK(some_note_has(*file, "the cgroup here has no memory of NUMA node 1 (cpuset.mems), so the"));
}

TEST_CASE("a note says that the cores of an allocation are not all cores of the machine") {
  MadeNode node("numa:2 core:4 pu:2");
  node.pairs_overrun = 1;
  node.machine.allowed = *CpuSet::parse_list("0,2,4,6,8,10,12,14");  // a thread of each core
  const auto all = node.measure();
  REQUIRE(all.ok());
  CHECK(all->notes.empty());
  node.machine.allowed = *CpuSet::parse_list("0,2,4");
  const auto some = node.measure();
  REQUIRE(some.ok());
  CHECK(some_note_has(*some, "3 of 8 cores of this node may be used"));
}

TEST_CASE("a high load is noted with its number, and the file calls the node busy") {
  MadeNode node("numa:2 core:4 pu:1");
  node.pairs_overrun = 1;
  node.load = 4;
  const auto idle = node.measure();
  REQUIRE(idle.ok());
  CHECK_FALSE(idle->busy);
  CHECK(idle->notes.empty());
  node.load = 5.08;
  const auto busy = node.measure();
  REQUIRE(busy.ok());
  CHECK(busy->busy);
  REQUIRE(busy->notes.size() == 1);
  CHECK(some_note_has(*busy, "the load was 5.1, and 8 CPUs may be used here; measure again"));
  node.load.reset();
  const auto unknown = node.measure();
  REQUIRE(unknown.ok());
  CHECK_FALSE(unknown->busy);
}

TEST_CASE(
    "a quota below the CPUs that are measured at once is noted, and the file is called busy") {
  MadeNode node("numa:2 core:4 pu:2");
  node.pairs_overrun = 1;
  node.cpu_quota = 8;  // one thread of each core is measured
  const auto enough = node.measure();
  REQUIRE(enough.ok());
  CHECK_FALSE(enough->busy);
  CHECK(enough->notes.empty());
  node.cpu_quota = 1.5;
  const auto limited = node.measure();
  REQUIRE(limited.ok());
  CHECK(limited->busy);
  REQUIRE(limited->notes.size() == 1);
  CHECK(some_note_has(*limited,
                      "the cgroup here has a CPU quota of 1.5, and 8 CPUs are measured at once"));
  node.machine.allowed = *CpuSet::parse_list("0-1");  // one core: messages run between two CPUs
  const auto core = node.measure();
  REQUIRE(core.ok());
  CHECK(some_note_has(*core, "and 2 CPUs are measured at once"));
}

TEST_CASE("times that scatter on an idle node are not blamed on other programs alone") {
  MadeNode node("numa:2 core:4 pu:1");
  node.pairs_overrun = 1;
  const PuPair worst = pairs_of_domain(node.machine, Domain::kMachine).front();
  node.spread_of = [&](const PuPair& pair) {
    return pair.a == worst.a && pair.b == worst.b ? 0.31 : 0.25;
  };
  const auto scattered = node.measure();
  REQUIRE(scattered.ok());
  CHECK(scattered->busy);
  REQUIRE(scattered->notes.size() == 1);
  CHECK(some_note_has(*scattered,
                      fmt::format("the times of messages between CPUs {} and {} scattered by 31 %, "
                                  "which other programs or the hypervisor of a virtual machine can "
                                  "cause; measure again",
                                  worst.a.value, worst.b.value)));
  const auto read = parse_machine_file(to_json(*scattered), "f");
  REQUIRE(read.ok());
  CHECK(read->busy);
  CHECK(read->notes == scattered->notes);
  node.spread_of = [](const PuPair&) { return 0.25; };
  const auto steady = node.measure();
  REQUIRE(steady.ok());
  CHECK_FALSE(steady->busy);
  CHECK(steady->notes.empty());
}
