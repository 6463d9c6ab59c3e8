// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/page_watch.h"

#include <cstring>
#include <filesystem>
#include <utility>

#include "mapcore/binding/affinity.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/step/waiting_ranks.h"

using namespace ondeloc;

namespace {

// Pages that no other process has, on the host's node 0.
[[noreturn]] void touch_memory() {
  if (!set_affinity(0, *CpuSet::parse_list("0"))) _exit(1);
  constexpr std::size_t kBytes = 8 << 20;
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(memory, 1, kBytes);
  WaitingRanks::wait_for_end();
}

// The note on the pages of rank 0, after it moved from node 0 to node 1 of a made machine. Pages
// that follow it stay on the host's node 0 if the host has no other.
std::string note_after_move(bool leaves_memory) {
  const Machine machine = *load_machine("numa:2 core:1 pu:1");
  const WaitingRanks waiting({{1}, {2}}, 0, touch_memory);
  Ranks ranks(2);
  ranks.refresh(waiting.view());
  auto placement = *Placement::plan(machine, ranks, 1, Memory::kLater, true);
  placement.leave_memory(leaves_memory);
  Mapping exchanged = placement.current();
  std::swap(exchanged[0], exchanged[1]);
  placement.apply(exchanged, ranks);
  PageWatch watch(2);
  for (int i = 0; i < 6000; ++i) {
    watch.look(placement, ranks, false);
    ReportRank line;
    watch.fill(LocalRank(0), line);
    if (line.far_pages > 0.9) return watch.note(ranks);
    usleep(10000);
  }
  return "no look found the pages";
}

}  // namespace

TEST_CASE("a rank that left its pages behind is not told to write them first", "[numa]") {
  if (!std::filesystem::exists("/sys/devices/system/node/node0"))
    ONDELOC_SKIP("the kernel has no NUMA nodes");
  if (!get_affinity(0)->test(PuOs(0)) || !get_affinity(0)->test(PuOs(1)))
    ONDELOC_SKIP("needs CPUs 0 and 1");
  CHECK(note_after_move(true) == "");
  if (!std::filesystem::exists("/sys/devices/system/node/node1"))
    CHECK(note_after_move(false).starts_with("memory: of the pages of ranks 0"));
}
