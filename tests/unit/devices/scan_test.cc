// SPDX-License-Identifier: Apache-2.0
#include "mapcore/devices/scan.h"

#include <cstdio>
#include <string>

#include "tests/unit/catch.h"
#include "tests/unit/devices/made_tree.h"

using namespace ondeloc;

namespace {

std::string lines(const std::vector<Device>& devices) {
  std::string text;
  for (const Device& device : devices) text += device_text(device) + "\n";
  return text;
}

}  // namespace

TEST_CASE("adapters of all kinds are found with address, node, state and speed") {
  MadeTree tree;
  tree.rdma("hfi1_0", tree.pci("0000:18:00.0", 0, "0-7", "hfi1"), "4: ACTIVE");
  tree.rdma("hfi1_1", tree.pci("0000:af:00.0", 1, "8-15", "hfi1"), "1: DOWN");
  const std::string hca = tree.pci("0000:3b:00.0", 0, "0-7", "mlx5_core");
  tree.rdma("mlx5_0", hca, "4: ACTIVE");
  tree.net("ib0", hca, "up", "100000");  // IPoIB of the same adapter
  tree.rdma("efa_0", tree.pci("0000:00:06.0", -1, "", "efa"), "4: ACTIVE");
  const std::string cxi = tree.pci("0000:21:00.0", 1, "8-15", "cxi_core");
  tree.write(cxi + "/cxi/cxi0/number", "0");
  tree.link(cxi + "/cxi/cxi0/device", cxi);
  tree.link("/sys/class/cxi/cxi0", cxi + "/cxi/cxi0");
  tree.net("hsn0", cxi, "up", "200000");
  tree.net("eth0", tree.pci("0000:01:00.0", 0, "0-7", "igb"), "up", "10000");
  tree.net("eth1", tree.pci("0000:01:00.1", 0, "0-7", "igb"), "down", "-1");
  tree.write("/sys/devices/virtual/net/lo/operstate", "unknown");
  tree.link("/sys/class/net/lo", "/sys/devices/virtual/net/lo");
  CHECK(lines(scan_adapters(tree.root())) ==
        "EFA adapter efa_0, 0000:00:06.0, locality unknown, active, 100 Gbit/s\n"
        "Omni-Path adapter hfi1_0, 0000:18:00.0, NUMA node 0, active, 100 Gbit/s\n"
        "Omni-Path adapter hfi1_1, 0000:af:00.0, NUMA node 1, inactive, 100 Gbit/s\n"
        "InfiniBand adapter mlx5_0, 0000:3b:00.0, NUMA node 0, active, 100 Gbit/s\n"
        "Slingshot adapter cxi0, 0000:21:00.0, NUMA node 1, active, 200 Gbit/s\n"
        "Ethernet adapter eth0, 0000:01:00.0, NUMA node 0, active, 10 Gbit/s\n"
        "Ethernet adapter eth1, 0000:01:00.1, NUMA node 0, inactive\n");
}

TEST_CASE("the active one of two ports counts, RoCE has no fabric, and virtio is a PCI device") {
  MadeTree tree;
  const std::string hca = tree.pci("0000:3b:00.0", 1, "8-15", "mlx4_core");
  tree.rdma("mlx4_0", hca, "1: DOWN");
  tree.write(hca + "/infiniband/mlx4_0/ports/2/state", "4: ACTIVE");
  tree.write(hca + "/infiniband/mlx4_0/ports/2/rate", "40 Gb/sec (4X QDR)");
  tree.write(hca + "/infiniband/mlx4_0/ports/2/link_layer", "Ethernet");
  tree.net("eth0", tree.pci("0000:00:03.0", 1, "8-15") + "/virtio2", "up", "-1");
  const auto devices = scan_adapters(tree.root());
  REQUIRE(devices.size() == 2);
  CHECK(devices[0].port == 2);
  CHECK(devices[0].gigabits == 40);
  CHECK(devices[0].fabric.empty());
  CHECK(device_text(devices[0]).starts_with("RoCE adapter mlx4_0, 0000:3b:00.0, NUMA node 1"));
  CHECK(device_text(devices[1]) == "Ethernet adapter eth0, 0000:00:03.0, NUMA node 1, active");
}

TEST_CASE("software RDMA is where its Ethernet adapter is") {
  MadeTree tree;
  tree.net("eth1", tree.pci("0000:82:00.0", 1, "8-15", "e1000e"), "up", "1000");
  tree.write("/sys/devices/virtual/infiniband/rxe0/parent", "eth1");
  tree.write("/sys/devices/virtual/infiniband/rxe0/ports/1/state", "4: ACTIVE");
  tree.link("/sys/class/infiniband/rxe0", "/sys/devices/virtual/infiniband/rxe0");
  const auto devices = scan_adapters(tree.root());
  REQUIRE(devices.size() == 1);
  CHECK(devices[0].name == "rxe0");
  CHECK(devices[0].node == 1);
}

TEST_CASE("the virtual functions of an adapter are not adapters") {
  MadeTree tree;
  const std::string hca = tree.pci("0000:3b:00.0", 0, "0-7", "mlx5_core");
  tree.rdma("mlx5_0", hca, "4: ACTIVE");
  for (int f = 1; f <= 200; ++f) {
    char address[16];
    std::snprintf(address, sizeof(address), "0000:3b:%02x.%d", f / 8, f % 8);
    const std::string path = tree.pci(address, 0, "0-7", "mlx5_core");
    tree.link(path + "/physfn", hca);
    tree.rdma("mlx5_" + std::to_string(f), path, "4: ACTIVE");
    tree.net("vf" + std::to_string(f), path, "up", "100000");
  }
  CHECK(scan_adapters(tree.root()).size() == 1);
  // A guest that got one function has an adapter.
  MadeTree guest;
  guest.rdma("mlx5_0", guest.pci("0000:00:05.0", -1, "0-3", "mlx5_core"), "4: ACTIVE");
  CHECK(scan_adapters(guest.root()).size() == 1);
}

TEST_CASE("missing and damaged files are unknown values") {
  CHECK(scan_devices("/nonexistent").empty());
  MadeTree tree;
  tree.write("/sys/class/infiniband/odd0/node_guid", "x");  // no device, no ports
  const std::string bad = tree.pci("0000:05:00.0", -2, "what?", "mlx5_core");
  tree.write(bad + "/infiniband/mlx5_0/ports/1/rate", "fast");
  tree.link(bad + "/infiniband/mlx5_0/device", bad);
  tree.link("/sys/class/infiniband/mlx5_0", bad + "/infiniband/mlx5_0");
  tree.link_as_is("/sys/class/infiniband/gone", "../../nowhere");
  tree.link_as_is("/sys/class/net/outside", "/proc/self");
  const auto devices = scan_devices(tree.root());
  REQUIRE(devices.size() == 3);
  for (const Device& device : devices) {
    CHECK(device.node == -1);
    CHECK(device.near.empty());
    CHECK(device.state != LinkState::kActive);
    CHECK(device.gigabits == 0);
  }
}

TEST_CASE("GPUs are what programs compute on") {
  MadeTree tree;
  // NVIDIA's driver, with a render node of the same card.
  const std::string h100 = tree.pci("0000:1b:00.0", 0, "0-7", "nvidia", "0x10de");
  tree.render("renderD128", h100);
  tree.pci("0000:9b:00.0", 1, "8-15", "nvidia", "0x10de");
  tree.render("renderD130", tree.pci("0000:c1:00.0", 3, "24-31", "amdgpu", "0x1002"));
  // The graphics of a management controller has no render node.
  const std::string bmc = tree.pci("0000:03:00.0", 0, "0-7", "ast", "0x1a03");
  tree.write(bmc + "/drm/card0/dev", "226:0");
  tree.link("/sys/class/drm/card0", bmc + "/drm/card0");
  // vgem hangs on no PCI device.
  tree.render("renderD131", "/sys/devices/platform/vgem");
  CHECK(lines(scan_gpus(tree.root())) ==
        "NVIDIA GPU 0000:1b:00.0, NUMA node 0\n"
        "NVIDIA GPU 0000:9b:00.0, NUMA node 1\n"
        "AMD GPU renderD130, 0000:c1:00.0, NUMA node 3\n"
        "other GPU renderD131, locality unknown\n");
}

TEST_CASE("the parts of a GPU are not GPUs") {
  MadeTree tree;
  tree.render("renderD128", tree.pci("0000:c1:00.0", 3, "24-31", "amdgpu", "0x1002"));
  tree.render("renderD129", "/sys/devices/platform/amdgpu_xcp_0");
  tree.render("renderD130", "/sys/devices/platform/amdgpu_xcp.36");
  CHECK(lines(scan_gpus(tree.root())) == "AMD GPU renderD128, 0000:c1:00.0, NUMA node 3\n");
}

TEST_CASE("a PCI address has this shape") {
  CHECK(is_pci_address("0000:3b:00.0"));
  CHECK(is_pci_address("10000:e1:00.0"));
  CHECK_FALSE(is_pci_address("0000:3b:00"));
  CHECK_FALSE(is_pci_address("pci0000:3b"));
  CHECK_FALSE(is_pci_address("3b:00.0"));
  CHECK_FALSE(is_pci_address(""));
}
