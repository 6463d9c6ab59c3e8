// SPDX-License-Identifier: Apache-2.0
#include "mapcore/devices/gpu_use.h"

#include <string>

#include "mapcore/devices/scan.h"
#include "tests/unit/catch.h"
#include "tests/unit/devices/made_tree.h"

using namespace ondeloc;

namespace {

constexpr pid_t kPid = 4711;
const std::string kProc = "/proc/4711";

// Two NVIDIA GPUs on nodes 0 and 1, minor numbers 1 and 0: not the order of their addresses.
struct NvidiaNode {
  NvidiaNode() {
    gpu("0000:1b:00.0", 0, "0-7", "1", "GPU-aaaa1111-0000");
    gpu("0000:9b:00.0", 1, "8-15", "0", "GPU-bbbb2222-0000");
    devices = scan_gpus(tree.root());
  }
  void gpu(const std::string& pci, int node, const char* cpus, const char* minor,
           const std::string& uuid) {
    tree.pci(pci, node, cpus, "nvidia", "0x10de");
    tree.write("/proc/driver/nvidia/gpus/" + pci + "/information",
               "Model: \t\t NVIDIA H100\nGPU UUID: \t " + uuid + "\nDevice Minor: \t " + minor);
  }
  void open(const char* fd, const std::string& target) {
    tree.link_as_is(kProc + "/fd/" + fd, target);
  }
  void environment(const std::string& text) {
    std::string zeros = text;
    for (char& c : zeros) c = c == '|' ? '\0' : c;
    tree.write(kProc + "/environ", zeros);
  }
  // "0 1 (open)", "" for none.
  std::string use() const {
    const GpuUse use = used();
    std::string text;
    for (const std::size_t gpu : use.gpus) text += std::to_string(gpu) + " ";
    if (use.unlisted) text += "? ";
    return use.any() ? text + "(" + use.source + ")" : "";
  }
  CpuSet near() const { return near_gpus(used(), devices); }
  GpuUse used() const {
    return gpus_of_process(kPid, environment_of(kPid, tree.root()), devices, tree.root());
  }
  MadeTree tree;
  std::vector<Device> devices;
};

struct AmdNode : NvidiaNode {
  AmdNode() {
    tree.remove("/sys");
    for (int i = 0; i < 4; ++i) {
      const std::string n = std::to_string(i);
      tree.render("renderD" + std::to_string(128 + i),
                  tree.pci("0000:c" + n + ":00.0", i, n, "amdgpu", "0x1002"));
      const std::string kfd = "/sys/class/kfd/kfd/topology/nodes/" + std::to_string(i + 1);
      tree.write(kfd + "/gpu_id", "100" + n);
      tree.write(kfd + "/properties", "cpu_cores_count 0\nlocation_id " +
                                          std::to_string((0xc0 + i) << 8) + "\ndomain 0");
    }
    devices = scan_gpus(tree.root());
    REQUIRE(devices.size() == 4);
  }
  void file(const char* fd, const std::string& name, const std::string& info) {
    open(fd, "/dev/dri/" + name);
    tree.write(kProc + "/fdinfo/" + fd, info);
  }
};

}  // namespace

TEST_CASE("a process without GPUs uses none") {
  NvidiaNode node;
  CHECK(node.use().empty());
  node.open("0", "/dev/null");
  node.open("3", "/dev/nvidiactl");
  node.open("4", "/dev/nvidia-uvm");
  node.environment("HOME=/root|CUDA_VISIBLE_DEVICES=|SLURM_STEP_GPUS=");
  CHECK(node.use().empty());
  node.environment("CUDA_VISIBLE_DEVICES=NoDevFiles");
  CHECK(node.use().empty());
}

TEST_CASE("the minor number of an open NVIDIA device is looked up, not taken for an ordinal") {
  NvidiaNode node;
  node.open("5", "/dev/nvidia1");
  CHECK(node.use() == "0 (open)");
  CHECK(node.near().to_list() == "0-7");
  node.environment("CUDA_VISIBLE_DEVICES=1");  // an ordinal says nothing
  CHECK(node.use() == "0 (open)");
}

TEST_CASE("CUDA opens every GPU: two on two nodes are not known, unless named") {
  NvidiaNode node;
  node.open("5", "/dev/nvidia0");
  node.open("6", "/dev/nvidia1");
  node.environment("CUDA_VISIBLE_DEVICES=0");
  CHECK(node.use() == "0 1 (open)");
  CHECK(node.near().empty());
  node.environment("CUDA_VISIBLE_DEVICES=GPU-bbbb2222-0000");
  CHECK(node.use() == "1 (open)");
  CHECK(node.near().to_list() == "8-15");
  node.environment("CUDA_VISIBLE_DEVICES=GPU-bbbb");
  CHECK(node.use() == "1 (open)");
  node.environment("CUDA_VISIBLE_DEVICES=MIG-5d2c");
  CHECK(node.use() == "0 1 (open)");
}

TEST_CASE("without an open GPU, those that Slurm gave count") {
  NvidiaNode node;
  node.environment("SLURM_STEP_GPUS=1|CUDA_VISIBLE_DEVICES=0");
  CHECK(node.use() == "0 1 (slurm)");
  node.environment("CUDA_VISIBLE_DEVICES=GPU-aaaa1111-0000|SLURM_STEP_GPUS=0,1");
  CHECK(node.use() == "0 (slurm)");
  node.environment("CUDA_VISIBLE_DEVICES=GPU-cccc");
  CHECK(node.use() == "0 1 (slurm)");
}

TEST_CASE("a device that is not listed is not known") {
  NvidiaNode node;
  node.open("5", "/dev/nvidia7");
  CHECK(node.use() == "? (open)");
  CHECK(node.near().empty());
  node.tree.remove(kProc);
  node.devices.clear();
  node.environment("ROCR_VISIBLE_DEVICES=0");
  CHECK(node.use() == "? (slurm)");
}

TEST_CASE("AMD's driver tells on which GPUs a process has memory") {
  AmdNode node;
  node.open("5", "/dev/dri/renderD128");  // ROCm opens all of them
  node.open("6", "/dev/dri/renderD130");
  for (int i = 0; i < 4; ++i)
    node.tree.write("/sys/class/kfd/kfd/proc/4711/vram_100" + std::to_string(i),
                    i == 2 ? "1048576" : "0");
  CHECK(node.use() == "2 (kfd)");
  node.tree.write("/sys/class/kfd/kfd/proc/4711/vram_9999", "4096");
  CHECK(node.use() == "2 ? (kfd)");
}

TEST_CASE("fdinfo names the PCI device and the memory of an open render node") {
  AmdNode node;
  const std::string idle = "drm-driver:\tamdgpu\ndrm-pdev:\t0000:c1:00.0\ndrm-memory-vram:\t0 KiB";
  const std::string busy =
      "drm-driver:\tamdgpu\ndrm-pdev:\t0000:c3:00.0\ndrm-memory-vram:\t2048 KiB";
  node.file("5", "renderD129", idle);
  CHECK(node.use() == "1 (fdinfo)");
  node.file("6", "renderD131", busy);
  CHECK(node.use() == "3 (fdinfo)");
  CHECK(node.near().to_list() == "3");
}

TEST_CASE("a render node without fdinfo is known by its name") {
  AmdNode node;
  node.open("5", "/dev/dri/renderD130");
  CHECK(node.use() == "2 (open)");
  node.open("6", "/dev/dri/renderD199");
  CHECK(node.use() == "2 ? (open)");
}
