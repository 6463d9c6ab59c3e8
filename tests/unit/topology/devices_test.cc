// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <string>

#include "mapcore/devices/scan.h"
#include "mapcore/topology/load.h"
#include "mapcore/topology/read_devices.h"
#include "tests/unit/catch.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

namespace {

// "hfi1_0@0 card1@1 eth0@?"
std::string devices_of(const std::string& name) {
  const auto machine = load_machine(test_data() + "/topologies/" + name);
  REQUIRE(machine.ok());
  std::string text;
  for (const Device& device : machine->devices) {
    const bool known = device.node >= 0 || !device.near.empty();
    text += (text.empty() ? "" : " ") + device.name + "@" +
            (device.node >= 0 ? std::to_string(device.node)
             : known          ? device.near.to_list()
                              : "?");
  }
  return text;
}

}  // namespace

TEST_CASE("real machines tell their devices") {
  CHECK(devices_of("192em64t-24n8c2t.xml") == "mlx4_0@6 eth0@0 eth1@0 eth2@4 eth3@4 eth4@4 eth5@4");
  // card0 of the last is an old ATI chip. The management controller's graphics is not a GPU. card0
  // is an NVIDIA GPU, opencl0d1 is AMD's.
  CHECK(devices_of("32em64t-2n8c2t-pci-normalio.xml").starts_with("mlx5_0@1 eth0@1 eth1@1 card0@"));
  CHECK(devices_of("96em64t-4n4d3ca2co-pci.xml") ==
        "eth0@0 eth1@0 eth2@1 eth3@1 eth4@2 eth5@2 eth6@3 eth7@3 card0@0");
  CHECK(devices_of("16amd64-4distances.xml").empty());
}

TEST_CASE("made machines: GPU and adapter per socket, 8 GPUs, MI300A, Grace Hopper") {
  CHECK(devices_of("made-2s-gpu-hfi.xml") == "hfi1_0@0 hfi1_1@1 card1@0 card2@1");
  CHECK(devices_of("made-4n-8gpu-4hca.xml") ==
        "mlx5_0@0 mlx5_1@1 mlx5_2@2 mlx5_3@3 card1@0 card2@0 card3@1 card4@1 card5@2 card6@2 "
        "card7@3 card8@3");
  CHECK(devices_of("made-mi300a.xml") ==
        "cxi0@0 cxi1@1 cxi2@2 cxi3@3 card0@0 card1@1 card2@2 card3@3");
  // The GPU is at the CPUs' node, not at the node that its own memory is.
  CHECK(devices_of("made-grace-hopper.xml") ==
        "mlx5_0@0 mlx5_1@2 mlx5_2@4 mlx5_3@6 card1@0 card1@2 card1@4 card1@6");
}

TEST_CASE("localities are made consistent with the machine") {
  auto machine = load_machine("package:2 numa:2 core:4 pu:1");
  REQUIRE(machine.ok());
  const auto placed = [&](int node, const char* near) {
    Device device{DeviceKind::kAmd, "renderD128"};
    device.node = node;
    device.near = *CpuSet::parse_list(near);
    machine->devices = {device};
    place_devices(*machine);
    return locality_text(machine->devices[0]) + "/" + machine->devices[0].near.to_list();
  };
  CHECK(placed(1, "4-7") == "NUMA node 1/4-7");
  CHECK(placed(1, "") == "NUMA node 1/4-7");
  CHECK(placed(-1, "4-7") == "NUMA node 1/4-7");
  CHECK(placed(-1, "0-7") == "CPUs 0-7/0-7");  // one package
  CHECK(placed(-1, "0-15") == "unknown/");     // everywhere
  CHECK(placed(-1, "") == "unknown/");
  CHECK(placed(9, "8-11") == "NUMA node 2/8-11");  // node 9 is memory only
  CHECK(placed(9, "") == "unknown/");
  CHECK(placed(9, "0-15") == "unknown/");
}
