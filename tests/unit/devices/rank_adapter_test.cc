// SPDX-License-Identifier: Apache-2.0
// Which adapter a rank sends through, by variables that nic= or the user has set.
#include "mapcore/devices/rank_adapter.h"

#include <string>
#include <utility>
#include <vector>

#include "mapcore/devices/nic_plan.h"
#include "tests/unit/catch.h"

namespace rank_adapter_test {
using namespace ondeloc;

namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;
using Positions = std::vector<std::size_t>;

Device adapter(DeviceKind kind, const char* name) {
  Device device{kind, name};
  device.state = LinkState::kActive;
  device.port = 1;
  return device;
}

const std::vector<Device> kOmniPath = {adapter(DeviceKind::kOmniPath, "hfi1_0"),
                                       adapter(DeviceKind::kOmniPath, "hfi1_1")};
const std::vector<Device> kMixed = {adapter(DeviceKind::kInfiniband, "mlx5_0"),
                                    adapter(DeviceKind::kInfiniband, "mlx5_1"),
                                    adapter(DeviceKind::kEthernet, "eth0")};

Positions used(const Variables& environment, const std::vector<Device>& devices) {
  return adapters_of_rank(nic_of(environment, devices), devices);
}

}  // namespace

TEST_CASE("a rank sends through the adapter that the user has named") {
  CHECK(used({{"HFI_UNIT", "1"}}, kOmniPath) == Positions{1});
  CHECK(nic_of(Variables{{"HFI_UNIT", "1"}}, kOmniPath) == "HFI_UNIT=1; the user has named hfi1_1");
  CHECK(used({{"UCX_NET_DEVICES", "mlx5_1:1"}}, kMixed) == Positions{1});
  CHECK(used({{"UCX_NET_DEVICES", "mlx5_1"}}, kMixed) == Positions{1});
  CHECK(used({{"PSM3_NIC", "mlx5_0"}}, kMixed) == Positions{0});
  CHECK(used({{"MV2_IBA_HCA", "mlx5_0:mlx5_1"}}, kMixed) == Positions{0, 1});
}

TEST_CASE("a value that names no adapter of the node leaves the usual ones") {
  for (const char* value : {"all", "mlx5_7:1", "mlx5_*", "mlx5_1:1,other", "", "^mlx5_0"})
    CHECK(used({{"UCX_NET_DEVICES", value}}, kMixed) == Positions{0, 1});
  CHECK(used({{"HOME", "mlx5_1"}}, kMixed) == Positions{0, 1});
  CHECK(nic_of(Variables{{"UCX_NET_DEVICES", "all"}}, kMixed).empty());
}

TEST_CASE("a rank is not sure of its adapter if several are named") {
  CHECK(used({{"UCX_NET_DEVICES", "mlx5_1:1"}, {"PSM3_NIC", "mlx5_0"}}, kMixed) == Positions{0, 1});
  // A choice of Ethernet does not keep other libraries from the faster network.
  CHECK(used({{"FI_TCP_IFACE", "eth0"}}, kMixed) == Positions{0, 1, 2});
  const std::vector<Device> ethernet = {adapter(DeviceKind::kEthernet, "eth0"),
                                        adapter(DeviceKind::kEthernet, "eth1")};
  CHECK(used({{"OMPI_MCA_btl_tcp_if_include", "eth1"}}, ethernet) == Positions{1});
}

TEST_CASE("rails take the place of a single adapter") {
  CHECK(used({{"HFI_UNIT", "1"}, {"PSM2_MULTIRAIL", "1"}}, kOmniPath) == Positions{0, 1});
  CHECK(used({{"HFI_UNIT", "1"}, {"PSM2_MULTIRAIL", "0"}}, kOmniPath) == Positions{1});
  CHECK(used({{"PSM2_MULTIRAIL", "1"}, {"PSM2_MULTIRAIL_MAP", "1:1"}}, kOmniPath) == Positions{1});
}

TEST_CASE("the choice of nic= and that of the user count together") {
  const std::string why = "; hfi1_1 is on the rank's NUMA node 1";
  const Variables ours = {{"HFI_UNIT", "1"}, {kNicVariable, "HFI_UNIT=1" + why}};
  CHECK(nic_of(ours, kOmniPath) == "HFI_UNIT=1" + why);
  const Variables both = {
      {"HFI_UNIT", "0"}, {"FI_OPX_HFI_SELECT", "1"}, {kNicVariable, "FI_OPX_HFI_SELECT=1" + why}};
  CHECK(used(both, kOmniPath) == Positions{0, 1});
  const Variables users = {{"HFI_UNIT", "0"}, {kNicVariable, "; the user has chosen adapters"}};
  CHECK(used(users, kOmniPath) == Positions{0});
}

}  // namespace rank_adapter_test
