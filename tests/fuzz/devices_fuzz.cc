// SPDX-License-Identifier: Apache-2.0
// Reads a node with made-up devices, one file of which has the fuzzer's text. The first byte
// chooses the file in kFiles, the rest is its text; the other files are as drivers write them.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "mapcore/devices/gpu_use.h"
#include "mapcore/devices/scan.h"
#include "tests/unit/devices/made_tree.h"

namespace {

constexpr pid_t kPid = 7;
const std::string kPci = "/sys/devices/pci0000:00/0000:00:01.0/";
const std::string kKfd = "/sys/class/kfd/kfd/topology/nodes/1/";

struct File {
  char letter;
  std::string path;
  std::string text;  // of a usual driver
};

const std::vector<File>& files() {
  static const std::vector<File> kFiles = {
      {'n', kPci + "0000:3b:00.0/numa_node", "1"},
      {'l', kPci + "0000:3b:00.0/local_cpulist", "8-15"},
      {'r', kPci + "0000:3b:00.0/infiniband/mlx5_0/ports/1/rate", "100 Gb/sec (4X EDR)"},
      {'s', kPci + "0000:3b:00.0/infiniband/mlx5_0/ports/1/state", "4: ACTIVE"},
      {'g', kPci + "0000:3b:00.0/infiniband/mlx5_0/ports/1/gids/0", "fe80:0000:0000:0000:24"},
      {'e', kPci + "0000:5e:00.0/net/eth0/speed", "25000"},
      {'v', kPci + "0000:c1:00.0/vendor", "0x1002"},
      {'i', "/proc/driver/nvidia/gpus/0000:1b:00.0/information",
       "GPU UUID: GPU-a\nDevice Minor: 0"},
      {'f', "/proc/7/fdinfo/4",
       "drm-driver:\tamdgpu\ndrm-pdev:\t0000:c1:00.0\ndrm-memory-vram:\t8 KiB"},
      {'p', kKfd + "properties", "location_id 49408\ndomain 0"},
      {'k', "/sys/class/kfd/kfd/proc/7/vram_17", "0"},
      {'m', "/proc/7/environ", "CUDA_VISIBLE_DEVICES=GPU-a"},
  };
  return kFiles;
}

class Node : public ondeloc::MadeTree {
 public:
  Node() {
    rdma("mlx5_0", pci("0000:3b:00.0", 1, "8-15", "mlx5_core"), "4: ACTIVE");
    net("eth0", pci("0000:5e:00.0", 0, "0-7", "ice"), "up", "25000");
    pci("0000:1b:00.0", 0, "0-7", "nvidia", "0x10de");
    render("renderD128", pci("0000:c1:00.0", 1, "8-15", "amdgpu", "0x1002"));
    link_as_is("/proc/7/fd/3", "/dev/nvidia0");
    link_as_is("/proc/7/fd/4", "/dev/dri/renderD128");
    write(kKfd + "gpu_id", "17");
    for (const File& file : files()) write(file.path, file.text);
  }
};

void check(const std::vector<ondeloc::Device>& devices, const ondeloc::GpuUse& use) {
  for (const ondeloc::Device& device : devices)
    if (device.node < -1 || !(device.gigabits >= 0) || device_text(device).empty()) std::abort();
  const bool known = std::all_of(use.gpus.begin(), use.gpus.end(),
                                 [&](std::size_t gpu) { return gpu < devices.size(); });
  if (!known || !std::is_sorted(use.gpus.begin(), use.gpus.end())) std::abort();
  (void)near_gpus(use, devices);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  setenv("TMPDIR", "/dev/shm", 0);  // files in memory: every run writes two
  static Node node;
  if (size == 0) return 0;
  const auto& all = files();
  const auto file = std::find_if(all.begin(), all.end(), [&](const File& candidate) {
    return candidate.letter == static_cast<char>(data[0]);
  });
  if (file == all.end()) return 0;
  node.write(file->path, {reinterpret_cast<const char*>(data) + 1, size - 1});
  const std::vector<ondeloc::Device> devices = ondeloc::scan_devices(node.root());
  const auto environment = ondeloc::environment_of(kPid, node.root());
  check(devices, ondeloc::gpus_of_process(kPid, environment, devices, node.root()));
  node.write(file->path, file->text);
  return 0;
}
