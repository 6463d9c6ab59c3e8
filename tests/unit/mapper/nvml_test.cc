// SPDX-License-Identifier: Apache-2.0
// The GPUs that NVIDIA's library tells, asked of a library that the test controls.
#include "mapcore/mapper/nvml.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "mapcore/apps/mapper_setup.h"
#include "mapcore/devices/scan.h"
#include "mapcore/mapper/gpu_watch.h"
#include "tests/unit/catch.h"
#include "tests/unit/devices/made_tree.h"
#include "tests/unit/mapper/loaded_nvml.h"
#include "tests/unit/step/waiting_ranks.h"

namespace nvml_test {
using namespace ondeloc;

namespace {

std::string gpus_of(Nvml& nvml, pid_t pid) {
  const NvidiaProcesses* told = nvml.processes();
  if (told == nullptr) return "unknown";
  std::string text;
  if (const auto found = told->of.find(pid); found != told->of.end())
    for (const std::string& gpu : found->second) text += gpu + " ";
  return text;
}

std::size_t known(Nvml& nvml) {
  const NvidiaProcesses* told = nvml.processes();
  return told == nullptr ? 0 : told->gpus.size();
}

}  // namespace

TEST_CASE("NVIDIA's library tells the GPUs of a process, by PCI address") {
  for (const char* name : {"made_nvml", "made_nvml_v2"}) {
    CAPTURE(name);
    LoadedNvml made(name);
    made.add(1, 17);
    made.add(0, 18);
    made.add(1, 18);
    Nvml nvml(made.path);
    CHECK(made.state->started == 0);  // nothing happens before it is needed
    CHECK(gpus_of(nvml, 17) == "0000:9b:00.0 ");
    CHECK(gpus_of(nvml, 18) == "0000:1b:00.0 0000:9b:00.0 ");
    CHECK(gpus_of(nvml, 19).empty());
    CHECK(known(nvml) == 2);
    CHECK(made.state->started == 1);
  }
}

TEST_CASE("the library is ended with its user, if it was started") {
  LoadedNvml made;
  { Nvml unused(made.path); }
  CHECK(made.state->ended == 0);
  {
    Nvml used(made.path);
    (void)used.processes();
  }
  CHECK(made.state->ended == 1);
}

TEST_CASE("graphics count too, and a hundred processes and more") {
  LoadedNvml made;
  made.state->gpus[0].graphics_pid = 5;
  for (int i = 0; i < 150; ++i) made.add(1, 1000 + i);
  Nvml nvml(made.path);
  CHECK(gpus_of(nvml, 5) == "0000:1b:00.0 ");
  CHECK(gpus_of(nvml, 1149) == "0000:9b:00.0 ");
}

TEST_CASE("the parts of a divided GPU stand for the GPU") {
  LoadedNvml made;
  MadeNvml::Gpu& gpu = made.state->gpus[0];
  gpu.whole.result = 4;  // no permission
  gpu.part_count = 2;
  gpu.parts[1].count = 1;
  gpu.parts[1].pids[0] = 7;
  Nvml nvml(made.path);
  CHECK(gpus_of(nvml, 7) == "0000:1b:00.0 ");
  CHECK(known(nvml) == 2);
  gpu.parts[0].result = 4;
  CHECK(known(nvml) == 1);  // processes of the first part may be missing
}

TEST_CASE("a library that is missing, or fails, or lacks a function tells nothing") {
  Nvml missing("/nowhere/libnvidia-ml.so.1");
  CHECK(missing.processes() == nullptr);
  CHECK(missing.processes() == nullptr);
  LoadedNvml without("made_nvml_without");
  Nvml lacking(without.path);
  CHECK(lacking.processes() == nullptr);
  CHECK(without.state->started == 0);
  LoadedNvml made;
  made.state->init_result = 9;  // the driver is not loaded
  {
    Nvml failing(made.path);
    CHECK(failing.processes() == nullptr);
    CHECK(failing.processes() == nullptr);
  }
  CHECK(made.state->started == 1);  // not tried again
  CHECK(made.state->ended == 0);
}

TEST_CASE("an answer that does not fit is not believed") {
  LoadedNvml made;
  made.add(1, 17);
  Nvml nvml(made.path);
  for (const unsigned claims : {65U, 100000U, 0xffffffffU}) {
    CAPTURE(claims);
    for (const int result : {0, 7}) {  // success, or a buffer that is always too small
      made.state->gpus[0].whole.claims = claims;
      made.state->gpus[0].whole.result = result;
      made.state->asked = 0;
      CHECK(known(nvml) == 1);
      CHECK(made.state->asked <= 6);
    }
  }
  made.state->gpus[0].whole = {};
  made.state->gpus[0].whole.result = 15;  // the GPU is lost
  CHECK(known(nvml) == 1);
  CHECK(gpus_of(nvml, 17) == "0000:9b:00.0 ");
  made.state->claims = 0xffffffffU;
  CHECK(gpus_of(nvml, 17) == "0000:9b:00.0 ");
}

TEST_CASE("the mapper's filter of system calls lets the library be loaded") {
  LoadedNvml made;
  made.add(1, 17);
  const pid_t child = fork();
  if (child == 0) {
    forbid_unneeded_calls();
    Nvml nvml(LoadedNvml::file("made_nvml_v2"));
    const NvidiaProcesses* told = nvml.processes();
    const bool opens = access("/dev/null", R_OK) == 0;
    _exit(told != nullptr && opens ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

namespace {

// A node with two of NVIDIA's GPUs.
struct Node {
  Node() {
    gpu("0000:1b:00.0", 0, "0", "0");
    gpu("0000:9b:00.0", 1, "1", "1");
    tree.link_as_is("/proc/self/ns/pid", "pid:[4026531836]");
  }
  void gpu(const std::string& pci, int node, const char* cpus, const char* minor) {
    tree.pci(pci, node, cpus, "nvidia", "0x10de");
    tree.write("/proc/driver/nvidia/gpus/" + pci + "/information",
               std::string("Device Minor: \t ") + minor);
  }
  void open_both(pid_t pid) {
    const std::string fds = "/proc/" + std::to_string(pid) + "/fd/";
    tree.link_as_is(fds + "5", "/dev/nvidia0");
    tree.link_as_is(fds + "6", "/dev/nvidia1");
  }
  MadeTree tree;
};

std::string use_text(const GpuUse& use) {
  std::string text;
  for (const std::size_t gpu : use.gpus) text += std::to_string(gpu) + " ";
  return text + "(" + use.source + ")";
}

}  // namespace

TEST_CASE("the GPUs on which the driver tells a context count, if several are open") {
  const pid_t pid = 4711;
  Node node;
  node.open_both(pid);
  const auto devices = scan_gpus(node.tree.root());
  REQUIRE(devices.size() == 2);
  LoadedNvml made;
  Nvml nvml(made.path);
  const auto use = [&] {
    return use_text(
        gpus_of_process(pid, {}, devices, node.tree.root(), [&] { return nvml.processes(); }));
  };
  CHECK(use() == "0 1 (open)");  // no context yet
  made.add(1, pid);
  CHECK(use() == "1 (nvml)");
  made.state->gpus[0].whole.result = 4;  // what it does on the other is not known
  CHECK(use() == "0 1 (open)");
  made.state->gpus[0].whole.result = 0;
  made.state->count = 3;  // a GPU that the process does not have open: another process's pid
  made.state->gpus[2].bus = 0x2b;
  made.add(2, pid);
  CHECK(use() == "0 1 (open)");
}

TEST_CASE("the driver is not asked if one GPU is open") {
  const pid_t pid = 4711;
  Node node;
  node.tree.link_as_is("/proc/4711/fd/5", "/dev/nvidia0");
  const auto devices = scan_gpus(node.tree.root());
  bool asked = false;
  const GpuUse use = gpus_of_process(pid, {}, devices, node.tree.root(), [&] {
    asked = true;
    return nullptr;
  });
  CHECK(use_text(use) == "0 (open)");
  CHECK_FALSE(asked);
}

TEST_CASE("a watch asks the driver once for all ranks, and again only now and then") {
  const WaitingRanks waiting(std::vector<std::vector<std::uint64_t>>(4, {1}));
  Ranks ranks(4);
  ranks.refresh(waiting.view());
  Node node;
  LoadedNvml made;
  for (std::size_t rank = 0; rank < 4; ++rank) {
    node.open_both(waiting.pid(rank));
    made.add(rank == 0 ? 1 : 0, waiting.pid(rank));
  }
  GpuWatch watch(scan_gpus(node.tree.root()), node.tree.root(), made.path);
  CHECK(watch.look(ranks));
  CHECK(made.state->asked == 2);  // two GPUs
  CHECK(use_text(watch.use_of(LocalRank(0))) == "1 (nvml)");
  CHECK(use_text(watch.use_of(LocalRank(3))) == "0 (nvml)");
  CHECK_FALSE(watch.has_unknown());
  for (int look = 2; look < 8; ++look) CHECK_FALSE(watch.look(ranks));
  CHECK(made.state->asked == 2);
  CHECK_FALSE(watch.look(ranks));
  CHECK(made.state->asked == 4);
}

TEST_CASE("the driver's pids mean nothing to a mapper in a pid namespace of its own") {
  const WaitingRanks waiting(std::vector<std::vector<std::uint64_t>>(1, {1}));
  Ranks ranks(1);
  ranks.refresh(waiting.view());
  Node node;
  node.open_both(waiting.pid(0));
  node.tree.remove("/proc/self");
  node.tree.link_as_is("/proc/self/ns/pid", "pid:[4026532000]");
  LoadedNvml made;
  made.add(1, waiting.pid(0));
  GpuWatch watch(scan_gpus(node.tree.root()), node.tree.root(), made.path);
  CHECK(watch.look(ranks));
  CHECK(use_text(watch.use_of(LocalRank(0))) == "0 1 (open)");
  CHECK(watch.has_unknown());
  CHECK(made.state->started == 0);
}

}  // namespace nvml_test
