// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/lama.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "mapcore/map/algorithm.h"
#include "mapcore/map/shared_slots.h"
#include "mapcore/map/slots.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/test_data.h"

namespace lama_test {
using namespace ondeloc;

namespace {

// One slot per PU that the step has; `missing` PUs exist in the machine but not in the step.
struct Case {
  Case(const std::string& topology, int ranks, const CpuSet& missing = {})
      : whole(*load_machine(topology)),
        machine(restrict_machine(whole, whole.all_pus() - missing)),
        traffic(CommMatrix::from_entries(ranks, {})),
        model(CostModel::from(machine)) {
    for (const Pu& pu : machine.pus) {
      CpuSet one;
      one.set(pu.os);
      slots.push_back(make_slot(machine, one));
    }
  }
  Result<Mapping> map(const std::string& layout) const {
    return compute_mapping("lama:" + layout,
                           {machine, slots, traffic, model, previous, {}, &whole});
  }
  // The logical PU of each rank.
  std::vector<int> pus(const std::string& layout) const {
    std::vector<int> result;
    const auto mapping = map(layout);
    if (!mapping) return result;
    for (const SlotIndex slot : *mapping)
      result.push_back(machine.find(PuOs(slots[slot.value].pus.first()))->logical.value);
    return result;
  }
  Machine whole, machine;
  SlotSet slots;
  Traffic traffic;
  CostModel model;
  Mapping previous;
};

// Instrumented code is slow: every 40th layout is mapped there, every one otherwise.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
constexpr int kStride = 40;
#else
constexpr int kStride = 1;
#endif

constexpr const char* kTwoSockets = "package:2 numa:1 l3:1 l2:3 l1:1 core:1 pu:2";

}  // namespace

TEST_CASE("scbnh as in figure 2 of the paper: sockets, then cores, then threads") {
  // Two nodes of two sockets of three cores of two threads take 24 ranks; one node takes 12.
  const Case c(kTwoSockets, 12);
  CHECK(c.pus("scbnh") == std::vector{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11});
  const Case large("package:2 numa:1 core:6 pu:2", 24);
  const auto pus = large.pus("scbnh");
  REQUIRE(pus.size() == 24);
  for (int rank = 0; rank < 24; ++rank) {
    const int socket = rank % 2, core = rank / 2 % 6, thread = rank / 12;
    CHECK(pus[rank] == socket * 12 + core * 2 + thread);
  }
}

TEST_CASE("aliases mean what Open MPI documented") {
  const Case c(kTwoSockets, 12);
  const std::vector packed_cores{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11};
  const std::vector packed_threads{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  const std::vector by_socket{0, 6, 2, 8, 4, 10, 1, 7, 3, 9, 5, 11};
  CHECK(c.pus("core") == packed_cores);
  CHECK(c.pus("hwthread") == packed_threads);
  CHECK(c.pus("socket") == by_socket);
  CHECK(c.pus("numa") == by_socket);
  CHECK(c.pus("l3cache") == by_socket);
  CHECK(c.pus("node") == by_socket);
  CHECK(c.pus("slot") == packed_threads);  // core order, then numbered by hardware thread
  CHECK(c.pus("l1cache") == packed_cores);
}

TEST_CASE("every one of the 362 880 layouts is accepted and fills a small tree") {
  std::array<std::string, 9> letters{"L1", "L2", "L3", "N", "b", "c", "h", "n", "s"};
  std::sort(letters.begin(), letters.end());
  const Case c("package:2 numa:1 l3:1 l2:1 l1:1 core:1 pu:2", 4);
  int layouts = 0, complete = 0, accepted = 0;
  do {
    std::string text;
    for (const std::string& letter : letters) text += letter;
    accepted += parse_lama(text).ok() ? 1 : 0;
    if (layouts++ % kStride != 0) continue;
    const auto pus = c.pus(text);
    complete += std::set<int>(pus.begin(), pus.end()).size() == 4 ? 1 : 0;
  } while (std::next_permutation(letters.begin(), letters.end()));
  CHECK(layouts == 362880);
  CHECK(accepted == 362880);
  CHECK(complete == 362880 / kStride);
}

TEST_CASE("levels that the layout leaves out are pruned") {
  const Case c(kTwoSockets, 12);
  CHECK(c.pus("cnh") == std::vector{0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11});
  CHECK(c.pus("hn") == std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
}

TEST_CASE("unavailable PUs are skipped where they would have been") {
  CpuSet missing;
  missing.set(PuOs(0));
  missing.set(PuOs(1));
  const Case c(kTwoSockets, 4, missing);
  CHECK(c.pus("scbnh") == std::vector{6, 2, 8, 4});
}

TEST_CASE("limits, order and oversubscription") {
  const Case c(kTwoSockets, 4);
  CHECK(c.pus("hcsbn/mppr=1:c") == std::vector{0, 2, 4, 6});
  CHECK(c.pus("hcsbn/mppr=2:s") == std::vector{0, 1, 6, 7});
  CHECK(c.pus("scbnh/order=s") == std::vector{0, 2, 6, 8});
  CHECK(!c.map("hcsbn/mppr=1:s").ok());
  CHECK(Case(kTwoSockets, 12).map("hcsbn/mppr=1:s/oversubscribe").ok());
}

TEST_CASE("caches that hold NUMA nodes stand above them") {
  const Case c("package:2 l3:1 numa:2 core:2 pu:1", 8);
  CHECK(c.pus("L3Nnch") == std::vector{0, 4, 2, 6, 1, 5, 3, 7});
  CHECK(c.pus("NL3nch") == std::vector{0, 2, 4, 6, 1, 3, 5, 7});
  const Case below("package:2 numa:1 l3:2 core:2 pu:1", 8);
  CHECK(below.pus("L3Nnch") == std::vector{0, 2, 4, 6, 1, 3, 5, 7});
}

TEST_CASE("the layout chooses the ranks that share, and no CPU is shared while another is idle") {
  Case c("package:2 numa:1 core:2 pu:1", 6);
  c.slots = shared_slots(c.machine, c.machine.allowed, 8, 1);
  CHECK(c.pus("scbnh/oversubscribe") == std::vector{0, 2, 1, 3, 0, 2});
  CHECK(!c.map("scbnh").ok());
  Case limited("package:2 numa:1 core:2 pu:2", 10);
  limited.slots = shared_slots(limited.machine, limited.machine.allowed, 16, 1);
  CHECK(limited.pus("scbnh/mppr=1:c/oversubscribe") == std::vector{0, 4, 2, 6, 1, 5, 3, 7, 0, 4});
  CHECK(limited.pus("cbnsh/mppr=1:s/oversubscribe").size() == 10);
}

TEST_CASE("bad layouts are told in one sentence") {
  for (const char* bad : {"", "scbn", "sch", "sscbnh", "xcbnh", "scbnh/bind=c", "scbnh/bind=0c",
                          "scbnh/bind=1L3", "scbnh/mppr=1", "scbnh/what", "L4nh"}) {
    INFO(bad);
    CHECK(!parse_lama(bad).ok());
  }
  CHECK(parse_lama("scbnL3h/bind=1L3").ok());
}

TEST_CASE("binding width") {
  const Machine machine = *load_machine(kTwoSockets);
  CHECK(lama_binding(machine, {1, 7}, PuOs(3)).to_list() == "2-3");
  CHECK(lama_binding(machine, {2, 7}, PuOs(2)).to_list() == "2-5");
  CHECK(lama_binding(machine, {1, 2}, PuOs(8)).to_list() == "6-11");
  // No L3 cache: the NUMA node that holds the PU stands for it.
  const Machine flat = *load_machine("package:2 numa:1 core:2 pu:2");
  CHECK(lama_binding(flat, parse_lama("scbnL3h/bind=1L3")->bind, PuOs(5)).to_list() == "4-7");
}

TEST_CASE(
    "real trees, uneven and with missing PUs: each rank on a PU of its own until all are taken") {
  for (const char* file :
       {"16amd64-8n2c-cpusets", "16em64t-4s2c2t-offlines", "8intel64-4n2t-memattrs",
        "96em64t-4n4d3ca2co-pci", "16amd64-4distances"}) {
    const std::string xml = fmt::format("{}/topologies/{}.xml", test_data(), file);
    const Machine machine = *load_machine(xml);
    CpuSet missing;  // every fifth PU, and all that hwloc does not allow
    for (std::size_t i = 0; i < machine.pus.size(); i += 5) missing.set(machine.pus[i].os);
    missing |= machine.all_pus() - machine.allowed;
    const Case c(xml, (machine.all_pus() - missing).count(), missing);
    for (const char* layout :
         {"scbnh", "hcL1L2L3Nsbn", "nbsNL3L2L1ch", "node", "numa", "socket", "core", "hwthread"}) {
      const auto pus = c.pus(layout);
      INFO(file << " " << layout);
      CHECK(std::set<int>(pus.begin(), pus.end()).size() == c.slots.size());
    }
  }
}

}  // namespace lama_test
