// SPDX-License-Identifier: Apache-2.0
#include "mapcore/devices/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "mapcore/devices/sysfs.h"

namespace ondeloc {
namespace {

constexpr std::size_t kMostDevices = 1024;

bool is_known(const std::vector<Device>& devices, const std::string& pci) {
  return !pci.empty() && std::any_of(devices.begin(), devices.end(),
                                     [&](const Device& device) { return device.pci == pci; });
}

// Address, NUMA node and near CPUs from the directory of the PCI device.
void read_place(const Sysfs& sys, const std::string& directory, Device& device) {
  if (directory.empty()) return;
  device.pci = last_component(directory);
  device.node = static_cast<int>(sys.read_number(directory + "/numa_node").value_or(-1));
  if (device.node < 0) device.node = -1;
  if (auto cpus = CpuSet::parse_list(sys.read(directory + "/local_cpulist")))
    device.near = *std::move(cpus);
}

// Tells virtual functions of adapters. The functions of one adapter lie side by side, so the
// directory that they lie in stays open until another is asked for.
class FunctionTest {
 public:
  explicit FunctionTest(const Sysfs& sys) : sys_(sys) {}
  bool operator()(const std::string& directory) {
    if (directory.empty()) return false;
    const std::size_t slash = directory.rfind('/');
    if (!above_ || directory.compare(0, slash, above_->path()) != 0)
      above_.emplace(sys_, directory.substr(0, slash));
    return above_->exists(directory.substr(slash + 1) + "/physfn");
  }

 private:
  const Sysfs& sys_;
  std::optional<SysfsFolder> above_;
};

// PCI directories of virtual functions. A function is in several classes, and there may be
// hundreds.
using Functions = std::unordered_set<std::string>;

DeviceKind kind_of_rdma(const std::string& driver) {
  if (driver == "hfi1") return DeviceKind::kOmniPath;
  return driver == "efa" ? DeviceKind::kEfa : DeviceKind::kInfiniband;
}

// "4: ACTIVE", "100 Gb/sec (4X EDR)". Ports of the same subnet have the same subnet manager.
void read_rdma_port(const Sysfs& sys, const std::string& path, const std::string& port,
                    Device& device) {
  const std::string ports = path + "/ports/" + port;
  device.port = std::atoi(port.c_str());
  device.state =
      sys.read(ports + "/state").starts_with("4") ? LinkState::kActive : LinkState::kInactive;
  device.gigabits = std::max(0.0, std::strtod(sys.read(ports + "/rate").c_str(), nullptr));
  device.ethernet = sys.read(ports + "/link_layer") == "Ethernet";
  const std::string prefix = sys.read(ports + "/gids/0").substr(0, 19);  // "fe80:0000:0000:0000"
  device.fabric = device.ethernet ? "" : fmt::format("{} {}", sys.read(ports + "/sm_lid"), prefix);
}

void add_rdma(const Sysfs& sys, std::vector<Device>& devices, Functions& functions) {
  const SysfsFolder adapters(sys, "/sys/class/infiniband");
  FunctionTest is_function(sys);
  for (const std::string& name : adapters.list()) {
    const std::string path = adapters.path() + "/" + name;
    std::string directory = adapters.pci_directory(name);
    // Software RDMA has no device of its own, only the Ethernet adapter that it sends through.
    if (directory.empty()) {
      const std::string parent = sys.read(path + "/parent");
      if (!parent.empty()) directory = SysfsFolder(sys, "/sys/class/net").pci_directory(parent);
    }
    if (is_function(directory)) {
      functions.insert(std::move(directory));
      continue;
    }
    if (devices.size() >= kMostDevices) continue;
    Device device{kind_of_rdma(sys.link_name(directory + "/driver")), name};
    read_place(sys, directory, device);
    for (const std::string& port : sys.list(path + "/ports")) {
      if (device.state != LinkState::kActive) {
        Device seen = device;
        read_rdma_port(sys, path, port, seen);
        if (device.port == 0 || seen.state == LinkState::kActive) device = seen;
      }
    }
    devices.push_back(std::move(device));
  }
}

LinkState state_of_net(const Sysfs& sys, const std::string& path) {
  const std::string state = sys.read(path + "/operstate");
  if (state == "up") return LinkState::kActive;
  return state == "down" || state == "lowerlayerdown" ? LinkState::kInactive : LinkState::kUnknown;
}

// Reading the speed of an interface without a link is an error, or gives -1.
double speed_of_net(const Sysfs& sys, const std::string& path) {
  return static_cast<double>(std::max(0L, sys.read_number(path + "/speed").value_or(0))) / 1000;
}

void add_slingshot(const Sysfs& sys, std::vector<Device>& devices) {
  const SysfsFolder adapters(sys, "/sys/class/cxi");
  FunctionTest is_function(sys);
  for (const std::string& name : adapters.list()) {
    const std::string directory = adapters.pci_directory(name);
    if (is_function(directory) || devices.size() >= kMostDevices) continue;
    Device device{DeviceKind::kSlingshot, name};
    read_place(sys, directory, device);
    device.fabric = "cxi";
    for (const std::string& net : sys.list(directory + "/net")) {
      device.state = state_of_net(sys, directory + "/net/" + net);
      device.gigabits = speed_of_net(sys, directory + "/net/" + net);
    }
    devices.push_back(std::move(device));
  }
}

void add_ethernet(const Sysfs& sys, std::vector<Device>& devices, const Functions& functions) {
  const SysfsFolder interfaces(sys, "/sys/class/net");
  FunctionTest is_function(sys);
  for (const std::string& name : interfaces.list()) {
    const std::string path = interfaces.path() + "/" + name;
    const std::string directory = interfaces.pci_directory(name);
    if (directory.empty() || functions.count(directory) > 0 ||
        is_known(devices, std::string(last_component(directory))) || is_function(directory) ||
        devices.size() >= kMostDevices)
      continue;
    Device device{DeviceKind::kEthernet, name};
    read_place(sys, directory, device);
    device.state = state_of_net(sys, path);
    if (device.state != LinkState::kInactive) device.gigabits = speed_of_net(sys, path);
    device.ethernet = true;
    devices.push_back(std::move(device));
  }
}

void add_gpu(const Sysfs& sys, const std::string& name, const std::string& directory,
             std::vector<Device>& devices) {
  if (FunctionTest(sys)(directory) || devices.size() >= kMostDevices) return;
  Device device{DeviceKind::kOtherGpu, name};
  read_place(sys, directory, device);
  if (is_known(devices, device.pci)) return;
  if (!directory.empty())
    device.kind =
        gpu_kind(static_cast<unsigned>(sys.read_number(directory + "/vendor").value_or(0)));
  devices.push_back(std::move(device));
}

// The parts of AMD's MI300 have render nodes on platform devices, "amdgpu_xcp_1" or "amdgpu_xcp.1",
// whether the GPU is divided or not. AMD's driver tells the GPU of a process that uses a part.
bool is_partition(std::string_view link) { return link.find("/platform/amdgpu_xcp") != link.npos; }

void add_fabrics(const Sysfs& sys, std::vector<Device>& devices, Functions& functions) {
  add_rdma(sys, devices, functions);
  add_slingshot(sys, devices);
}

}  // namespace

std::vector<Device> scan_fabrics(const std::string& root) {
  const Sysfs sys(root);
  std::vector<Device> devices;
  Functions functions;
  add_fabrics(sys, devices, functions);
  return devices;
}

std::vector<Device> scan_adapters(const std::string& root) {
  const Sysfs sys(root);
  std::vector<Device> devices;
  Functions functions;
  add_fabrics(sys, devices, functions);
  add_ethernet(sys, devices, functions);
  return devices;
}

std::vector<Device> scan_gpus(const std::string& root) {
  const Sysfs sys(root);
  std::vector<Device> devices;
  const SysfsFolder driver(sys, "/sys/bus/pci/drivers/nvidia"), graphics(sys, "/sys/class/drm");
  for (const std::string& name : driver.list())
    if (is_pci_address(name)) add_gpu(sys, name, driver.pci_directory(name), devices);
  for (const std::string& name : graphics.list())
    if (name.starts_with("renderD") && !is_partition(graphics.link(name)))
      add_gpu(sys, name, graphics.pci_directory(name), devices);
  return devices;
}

std::vector<Device> scan_devices(const std::string& root) {
  std::vector<Device> devices = scan_adapters(root);
  for (Device& gpu : scan_gpus(root)) devices.push_back(std::move(gpu));
  return devices;
}

}  // namespace ondeloc
