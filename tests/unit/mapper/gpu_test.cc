// SPDX-License-Identifier: Apache-2.0
// Ranks that use a GPU stay near it. The processes are real; what they have open is a made-up tree.
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <functional>
#include <regex>
#include <thread>

#include "mapcore/binding/affinity.h"
#include "mapcore/mapper/gpu_watch.h"
#include "mapcore/mapper/placement.h"
#include "mapcore/mapper/run.h"
#include "mapcore/report/report_json.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/devices/made_tree.h"
#include "tests/unit/mapper/loaded_nvml.h"
#include "tests/unit/step/fake_step.h"
#include "tests/unit/step/wait_until.h"
#include "tests/unit/step/waiting_ranks.h"
#include "tests/unit/temp_dir.h"
#include "tests/unit/test_data.h"

namespace gpu_test {
using namespace ondeloc;

namespace {

using namespace fake_step;

const char* const kGpus[] = {"0000:10:00.0", "0000:20:00.0"};  // of made-2n-2gpu.xml, by node

std::string two_gpus() { return test_data() + "/topologies/made-2n-2gpu.xml"; }

// The process has the render node of this GPU open.
void hold(MadeTree& tree, pid_t pid, int gpu, const char* fd = "9") {
  const std::string proc = fmt::format("/proc/{}", pid);
  tree.link_as_is(proc + "/fd/" + fd, fmt::format("/dev/dri/renderD{}", 128 + gpu));
  tree.write(proc + "/fdinfo/" + fd, fmt::format("drm-pdev:\t{}", kGpus[gpu]));
}

void environment(MadeTree& tree, pid_t pid, const std::string& entry) {
  tree.write(fmt::format("/proc/{}/environ", pid), entry);
}

struct Setting {
  const char* options = "online,interval=50ms,max-interval=200ms";
  std::string topology = two_gpus();
  std::string nvml = "/nowhere";
  // Called when intervals have ended: a GPU is often opened after MPI_Init.
  std::function<void()> open_gpus = [] {};
};

// A step of four ranks, two on each node, of which 0 and 2, and 1 and 3, are partners.
nlohmann::json run_step(const Step& step, const MadeTree& tree, bool waits,
                        const Setting& setting = {}) {
  const std::string pattern =
      (std::filesystem::temp_directory_path() / fmt::format("ondeloc-gpu-{}-%N.json", getpid()))
          .string();
  MapperConfig config;
  config.segment_fd = step.segment.get();
  config.options = *parse_options(setting.options);
  config.options.report = pattern;
  config.node = "n1";
  config.topology = setting.topology;
  config.devices_root = tree.root();
  config.nvml = setting.nvml;
  config.sample_every = {};  // the tests see by the tick that an interval has ended
  std::atomic<bool> is_waiting = false;
  std::thread other([&] {
    const Rank rows = attach(step.segment.get());
    const auto moved = [&] {
      for (std::size_t at = 0; at < step.pids.size(); ++at)
        if (*get_affinity(step.pids[at]) != *CpuSet::parse_list(at < 2 ? "0" : "1")) return true;
      return false;
    };
    const auto is_over = [&] { return waits ? moved() : rows.header().tick >= 6; };
    is_waiting = true;
    wait_until([&] { return rows.header().tick >= 2; });
    setting.open_gpus();
    wait_until(is_over);
    *step.partner_bit = -1;
  });
  // The mapper tries the XML file in a child. A thread that starts just then may hold a lock of the
  // sanitizer, which the child then waits for.
  wait_until([&] { return is_waiting.load(); });
  (void)run_mapper(config);
  other.join();
  const std::string path = expand_pattern(pattern, 17, 3, "n1");
  std::ifstream in(path);
  auto json = nlohmann::json::parse(in);
  std::filesystem::remove(path);
  return json;
}

std::vector<CpuSet> two_by_two() {
  const CpuSet left = *CpuSet::parse_list("0"), right = *CpuSet::parse_list("1");
  return {left, left, right, right};
}

bool two_cpus() { return get_affinity(0)->test(PuOs(0)) && get_affinity(0)->test(PuOs(1)); }

std::string end_of(const nlohmann::json& report, int rank) {
  return report["ranks"][static_cast<std::size_t>(rank)]["final_cpus"];
}

}  // namespace

TEST_CASE("ranks near their GPUs stay there, and the others are moved around them", "[cpus]") {
  if (!two_cpus()) ONDELOC_SKIP("needs CPUs 0 and 1");
  // Whichever of the two equal solutions the algorithm prefers, one of these is the other.
  for (const bool outer : {true, false}) {
    Step step(two_by_two(), std::vector<Habit>(kRanks), 2);
    MadeTree tree;
    const int left = outer ? 0 : 1, right = outer ? 3 : 2;
    hold(tree, step.pids[static_cast<std::size_t>(left)], 0);
    hold(tree, step.pids[static_cast<std::size_t>(right)], 1);
    const auto report = run_step(step, tree, true);
    INFO(report.dump(1));
    CHECK(end_of(report, left) == "0");
    CHECK(end_of(report, right) == "1");
    CHECK(report["totals"]["remaps"] >= 1);
    CHECK(end_of(report, left) == end_of(report, left ^ 2));
    const auto& line = report["ranks"][static_cast<std::size_t>(right)];
    CHECK(line["gpus"] == nlohmann::json::array({"renderD129"}));
    CHECK(line["gpu_source"] == "fdinfo");
    CHECK(line["gpus_near_at_start"] == true);
    CHECK(line["gpus_near_at_end"] == true);
    CHECK(report["ranks"][static_cast<std::size_t>(left ^ 1)]["gpus_near_at_end"].is_null());
    CHECK(report["topology"]["devices"].size() == 4);
  }
}

TEST_CASE("ranks whose GPUs are not known do not leave their node", "[cpus]") {
  if (!two_cpus()) ONDELOC_SKIP("needs CPUs 0 and 1");
  Step step(two_by_two(), std::vector<Habit>(kRanks), 2);
  MadeTree tree;
  // CUDA before its first call, GPUs of both nodes, and one that is not listed.
  environment(tree, step.pids[0], "CUDA_VISIBLE_DEVICES=0");
  hold(tree, step.pids[1], 0);
  hold(tree, step.pids[1], 1, "10");
  tree.link_as_is(fmt::format("/proc/{}/fd/7", step.pids[2]), "/dev/dri/renderD190");
  hold(tree, step.pids[3], 1);
  const auto report = run_step(step, tree, false);
  CHECK(report["totals"]["remaps"] == 0);
  for (const int rank : {0, 1, 2, 3}) CHECK(end_of(report, rank) == (rank < 2 ? "0" : "1"));
  CHECK(report["ranks"][1]["gpus"].size() == 2);
  CHECK(report["ranks"][1]["gpus_near_at_end"].is_null());
  const std::string notes = report["notes"].dump();
  CHECK(notes.find("GPUs: rank 3 may be bound to CPUs near their GPUs only") != notes.npos);
  CHECK(notes.find("GPUs: ranks 0-2 may not leave the NUMA node") != notes.npos);
}

TEST_CASE("on a machine with one NUMA node nothing is said about the place of GPUs", "[cpus]") {
  if (!two_cpus()) ONDELOC_SKIP("needs CPUs 0 and 1");
  Step step(two_by_two(), std::vector<Habit>(kRanks), 2);
  MadeTree tree;
  tree.link_as_is(fmt::format("/proc/{}/fd/7", step.pids[2]), "/dev/dri/renderD190");
  const auto report = run_step(
      step, tree, false, {.options = "online,interval=50ms", .topology = "numa:1 core:2 pu:1"});
  CHECK(report["topology"]["numa"].size() == 1);
  CHECK(report["notes"].dump().find("GPUs:") == std::string::npos);
}

TEST_CASE("a rank that Slurm put away from its GPU is moved to it", "[cpus]") {
  if (!two_cpus()) ONDELOC_SKIP("needs CPUs 0 and 1");
  Step step(two_by_two(), std::vector<Habit>(kRanks), 1);  // partners are together: no other reason
  MadeTree tree;
  const auto report =
      run_step(step, tree, true, {.open_gpus = [&] { hold(tree, step.pids[0], 1); }});
  CHECK(end_of(report, 0) == "1");
  CHECK(report["ranks"][0]["gpus_near_at_start"] == false);
  CHECK(report["ranks"][0]["gpus_near_at_end"] == true);
}

TEST_CASE("a rank that has all GPUs open is moved to the one that NVIDIA's driver tells",
          "[cpus]") {
  if (!two_cpus()) ONDELOC_SKIP("needs CPUs 0 and 1");
  Step step(two_by_two(), std::vector<Habit>(kRanks), 1);
  MadeTree tree;
  const TempDir dir;
  const std::string topology = dir.path() + "/nvidia.xml";
  write_text(topology,
             std::regex_replace(read_text(two_gpus()), std::regex("1002:74a0"), "10de:2330"));
  const LoadedNvml made;
  for (const int gpu : {0, 1}) {
    made.state->gpus[gpu].bus = gpu == 0 ? 0x10 : 0x20;
    tree.write(fmt::format("/proc/driver/nvidia/gpus/{}/information", kGpus[gpu]),
               fmt::format("Device Minor: \t {}", 1 - gpu));
  }
  made.add(1, step.pids[0]);
  tree.link_as_is("/proc/self/ns/pid", "pid:[4026531836]");
  const auto open_gpus = [&] {
    for (const int minor : {0, 1})
      tree.link_as_is(fmt::format("/proc/{}/fd/{}", step.pids[0], 5 + minor),
                      fmt::format("/dev/nvidia{}", minor));
  };
  const auto report =
      run_step(step, tree, true, {.topology = topology, .nvml = made.path, .open_gpus = open_gpus});
  INFO(report.dump(1));
  CHECK(end_of(report, 0) == "1");
  CHECK(report["ranks"][0]["gpu_source"] == "nvml");
  CHECK(report["ranks"][0]["gpus"].size() == 1);
  CHECK(report["ranks"][0]["gpus_near_at_end"] == true);
}

TEST_CASE("a step that is only watched tells which ranks are away from their GPUs", "[cpus]") {
  if (!two_cpus()) ONDELOC_SKIP("needs CPUs 0 and 1");
  Step step(two_by_two(), std::vector<Habit>(kRanks), 2);
  MadeTree tree;
  hold(tree, step.pids[0], 1);
  hold(tree, step.pids[3], 1);
  const auto report = run_step(step, tree, false,
                               {.options = "online,decide=never,interval=50ms,max-interval=200ms"});
  CHECK(end_of(report, 0) == "0");
  CHECK(report["notes"].dump().find("GPUs: ranks 0 are bound away from their GPUs") !=
        std::string::npos);
}

TEST_CASE(
    "ranks that share one mask begin near their GPUs, or are not bound if these are unknown") {
  const Machine machine = *load_machine(test_data() + "/topologies/made-2s-gpu-hfi.xml");
  const WaitingRanks waiting(std::vector<std::vector<std::uint64_t>>(4, {0xffff}));
  Ranks ranks(4);
  ranks.refresh(waiting.view());
  MadeTree tree;
  const auto environ_of = [&](std::size_t rank, const char* pci) {
    environment(tree, waiting.pid(rank), std::string("CUDA_VISIBLE_DEVICES=") + pci);
  };
  environ_of(0, "0000:2b:00.0");  // on node 1
  GpuWatch gpus(machine.devices, tree.root());
  const auto start = [&] {
    auto placement = Placement::plan(machine, ranks, 1, Memory::kStay, false);
    REQUIRE(placement);
    gpus.look(ranks);
    placement->start_allowed(gpus.allowed(placement->slots(), placement->current()),
                             gpus.has_unknown());
    return *std::move(placement);
  };
  const Placement known = start();
  CHECK(!known.keeps_bindings());
  CHECK(known.slots().slots[known.current()[LocalRank(0)]].node.value == 1);
  CHECK(known.bindings()[LocalRank(0)].start == known.cpus_of(LocalRank(0)));
  gpus = GpuWatch(machine.devices, tree.root());
  environ_of(1, "0,1");
  CHECK(start().keeps_bindings());
}

TEST_CASE("a rank's files are looked at again only if it has opened or closed one",
          "[open-files]") {
  const Machine machine = *load_machine(two_gpus());
  const WaitingRanks waiting(std::vector<std::vector<std::uint64_t>>{{1}, {2}});
  Ranks ranks(2);
  ranks.refresh(waiting.view());
  if (open_files_of(waiting.pid(0)) == 0)
    ONDELOC_SKIP("Linux before 6.2 does not count open files");
  GpuWatch gpus(machine.devices);
  gpus.look(ranks);
  CHECK(reads_in([&] { gpus.look(ranks); }) == 0);
}

TEST_CASE("the adapter of a rank is the one that nic= has set, or nobody's guess") {
  const Machine machine = *load_machine(test_data() + "/topologies/made-2s-gpu-hfi.xml");
  const WaitingRanks waiting(std::vector<std::vector<std::uint64_t>>{{1}, {2}});
  Ranks ranks(2);
  ranks.refresh(waiting.view());
  MadeTree tree;
  GpuWatch none(machine.devices, tree.root());
  none.look(ranks);
  CHECK(none.adapters().empty());  // two are active, and nobody chose
  environment(tree, waiting.pid(1), "ONDELOC_NIC=HFI_UNIT=1; hfi1_1 is on NUMA node 1");
  GpuWatch chosen(machine.devices, tree.root());
  chosen.look(ranks);
  REQUIRE(chosen.adapters().size() == 2);
  CHECK_FALSE(chosen.adapters()[0]);
  CHECK(machine.devices.at(chosen.adapters()[1].value()).name == "hfi1_1");
}

}  // namespace gpu_test
