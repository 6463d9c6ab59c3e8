// SPDX-License-Identifier: Apache-2.0
// Algorithms 1 and 2 step by step, on the three node configurations of the document.
#include "mapcore/devices/pick_adapter.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "mapcore/devices/nic_plan.h"
#include "tests/unit/catch.h"
#include "tests/unit/test_data.h"

using namespace ondeloc;

namespace {

Device unit(int number, int node, LinkState state = LinkState::kActive) {
  Device device{DeviceKind::kOmniPath, "hfi1_" + std::to_string(number)};
  device.node = node;
  device.state = state;
  device.port = 1;
  return device;
}

using Units = std::vector<Device>;
const Units kOne = {unit(0, 0)};
const Units kTwo = {unit(0, 0), unit(1, 1)};
const Units kFour = {unit(0, 0), unit(1, 0), unit(2, 1), unit(3, 1)};

int pick(const Units& units, int node, int index = 0, int number = 0) {
  const auto chosen = select_adapter({units, {}, node, index, number});
  return chosen ? static_cast<int>(*chosen) : -1;
}

std::string rails(const Units& units, int node, bool on_node) {
  std::string text;
  for (const std::size_t rail : select_rails({units, {}, node}, on_node))
    text += std::to_string(rail);
  return text;
}

}  // namespace

TEST_CASE("algorithm 1, line 4: the user's unit is taken, whatever the rest says") {
  const Units dead = {unit(0, 0), unit(1, 1, LinkState::kInactive)};
  CHECK(select_adapter({dead, 1, 0}) == 1U);
  CHECK(select_adapter({kFour, 3, 0}) == 3U);
}

TEST_CASE("algorithm 1, line 7: the only active unit is taken from either socket") {
  CHECK(pick(kOne, 0) == 0);
  CHECK(pick(kOne, 1) == 0);
  CHECK(pick({unit(0, 0, LinkState::kInactive), unit(1, 1)}, 0) == 1);
}

TEST_CASE("algorithm 1, line 19: one unit per socket, the local one") {
  CHECK(pick(kTwo, 0) == 0);
  CHECK(pick(kTwo, 1) == 1);
}

TEST_CASE("algorithm 1, line 17: two units per socket, the ranks are spread evenly over both") {
  // With ranks dealt cyclically over the sockets, number % 2 is the same for all of a socket.
  int users[4] = {};
  for (int number = 0; number < 16; ++number) ++users[pick(kFour, number % 2, number / 2, number)];
  for (const int count : users) CHECK(count == 4);
  const Units half = {unit(0, 0, LinkState::kInactive), unit(1, 0), unit(2, 1), unit(3, 1)};
  CHECK(pick(half, 0, 0) == 1);
  CHECK(pick(half, 0, 1) == 1);
}

TEST_CASE("algorithm 1, line 21: no local unit, the nearest remote one") {
  const Units far = {unit(0, 1), unit(1, 2), unit(2, 2), unit(3, -1)};
  AdapterRequest request{far, {}, 0, 0, 0, {10, 32, 16}};
  CHECK(select_adapter(request) == 1U);
  request.number = 1;
  CHECK(select_adapter(request) == 2U);
  request.node = -1;  // a rank on several nodes
  CHECK(select_adapter(request).has_value());
}

TEST_CASE("algorithm 1: no active unit, or none at all") {
  CHECK(pick({}, 0) == -1);
  CHECK(pick({unit(0, 0, LinkState::kInactive)}, 0) == -1);
}

TEST_CASE("algorithm 2: rails over all units, or over those of the node") {
  CHECK(rails(kOne, 0, false) == "0");
  CHECK(rails(kTwo, 0, false) == "01");
  CHECK(rails(kFour, 1, false) == "0123");
  CHECK(rails(kTwo, 1, true) == "1");
  CHECK(rails(kFour, 0, true) == "01");
  CHECK(rails(kFour, 1, true) == "23");
  CHECK(rails(kOne, 1, true).empty());
  CHECK(rails({unit(0, 0, LinkState::kInactive), unit(1, 0)}, 0, true) == "1");
}

namespace {

const IsSet kNothing = [](const char*) { return false; };

NicPlace place(int node, int index = 0, int ranks = 8, int nodes = 2) {
  NicPlace there;
  there.rank.node = node;
  there.rank.index = index;
  there.ranks = ranks;
  there.nodes = nodes;
  return there;
}

std::string plan(std::string_view nic, const Units& units, const NicPlace& there,
                 const IsSet& is_set = kNothing) {
  const auto result = plan_nic(nic, units, there, is_set);
  return result ? result->text() : "error: " + result.error().message();
}

Device hca(int number, int node, bool ethernet = false, const char* fabric = "0x1 fe80") {
  Device device{DeviceKind::kInfiniband, "mlx5_" + std::to_string(number)};
  device.node = node;
  device.state = LinkState::kActive;
  device.port = 1;
  device.ethernet = ethernet;
  device.fabric = ethernet ? "" : fabric;
  return device;
}

}  // namespace

TEST_CASE("nic=auto sets the variables of the fabric's stacks") {
  CHECK(plan("auto", kTwo, place(1)) ==
        "HFI_UNIT=1 FI_OPX_HFI_SELECT=1; hfi1_1 is on the rank's NUMA node 1");
  CHECK(plan("auto", kFour, place(1, 1)) ==
        "HFI_UNIT=3 FI_OPX_HFI_SELECT=3; hfi1_3 is on the rank's NUMA node 1");
  CHECK(plan("auto", {hca(0, 0), hca(1, 1)}, place(1)) ==
        "UCX_NET_DEVICES=mlx5_1:1 PSM3_NIC=mlx5_1 FI_VERBS_DEVICE_NAME=mlx5_1 MV2_IBA_HCA=mlx5_1; "
        "mlx5_1 is on the rank's NUMA node 1");
  CHECK(plan("auto", {hca(0, 0), hca(1, 1)}, place(2)).find("nearest") != std::string::npos);
}

TEST_CASE("Cray MPICH is told to take the local adapter only where a rank has one") {
  Units slingshot = {unit(0, 0), unit(1, 1)};
  for (Device& device : slingshot) {
    device.kind = DeviceKind::kSlingshot;
    device.name = "cxi" + device.name.substr(5);
  }
  CHECK(plan("auto", slingshot, place(0)) ==
        "FI_CXI_DEVICE_NAME=cxi0 MPICH_OFI_NIC_POLICY=NUMA; cxi0 is on the rank's NUMA node 0");
  CHECK(plan("auto", slingshot, place(2)).starts_with("FI_CXI_DEVICE_NAME=cxi0; "));
  CHECK(plan("cxi1", slingshot, place(-1)) == "FI_CXI_DEVICE_NAME=cxi1; named by nic=");
  CHECK(plan("rail", slingshot, place(-1)) ==
        "FI_CXI_DEVICE_NAME=cxi0,cxi1 MPIR_CVAR_CH4_OFI_MAX_NICS=2 "
        "MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING=1 I_MPI_MULTIRAIL=1; rails over all adapters");
}

TEST_CASE("nothing is set if the user told an MPI library how to choose") {
  for (const char* users : {"MPICH_OFI_NIC_POLICY", "MPICH_OFI_NIC_MAPPING", "MPICH_OFI_NUM_NICS",
                            "MPIR_CVAR_CH4_OFI_PREF_NIC", "MPIR_CVAR_CH4_OFI_MAX_NICS",
                            "I_MPI_MULTIRAIL", "I_MPI_OFI_NIC_AFFINITY"}) {
    CAPTURE(users);
    const IsSet has = [&](const char* name) { return name == std::string(users); };
    CHECK(plan("auto", kTwo, place(1), has) == "; the user has chosen adapters");
    CHECK(plan("rail", {hca(0, 0), hca(1, 1)}, place(1), has) == "; the user has chosen adapters");
  }
}

TEST_CASE("every variable belongs to a stack, and its user may choose by it") {
  std::size_t variables = 0;
  for (const NicStack& stack : nic_stacks()) {
    CAPTURE(stack.name);
    for (const char* name : nic_variables(stack)) {
      CAPTURE(name);
      ++variables;
      CHECK(std::any_of(stack.chosen_by.begin(), stack.chosen_by.end(), [&](const char* users) {
        return users != nullptr && users == std::string(name);
      }));
    }
  }
  CHECK(variables == nic_variables().size());
  CHECK(variables > 15);
}

namespace {

std::string list(const std::vector<const char*>& names) {
  std::string text;
  for (const char* name : names) text += (text.empty() ? "" : ", ") + std::string(name);
  return text;
}

// The stack as the section NETWORK LIBRARIES of ondeloc(7) has it.
std::string manual_item(const NicStack& stack) {
  const std::vector<const char*> sets = nic_variables(stack);
  std::vector<const char*> others;
  for (const char* users : stack.chosen_by)
    if (users != nullptr && std::none_of(sets.begin(), sets.end(), [&](const char* name) {
          return name == std::string(users);
        }))
      others.push_back(users);
  std::string item = std::string(".TP\n.B ") + stack.name + "\nSets " + list(sets) + ".\n";
  if (!others.empty()) item += "A user can also choose by " + list(others) + ".\n";
  return item;
}

}  // namespace

TEST_CASE("ondeloc(7) lists each network library with its variables") {
  std::ifstream file(test_data() + "/../../etc/man/ondeloc.7");
  std::stringstream page;
  page << file.rdbuf();
  std::string items;
  for (const NicStack& stack : nic_stacks()) items += manual_item(stack);
  CAPTURE(items);
  CHECK(page.str().find(items) != std::string::npos);
}

TEST_CASE("variables that the user has set stay; those of other stacks are set") {
  const IsSet has_alg = [](const char* name) { return name == std::string("HFI_SELECTION_ALG"); };
  CHECK(plan("auto", kTwo, place(1), has_alg) ==
        "FI_OPX_HFI_SELECT=1; hfi1_1 is on the rank's NUMA node 1");
  const IsSet has_all = [](const char*) { return true; };
  CHECK(plan("auto", kTwo, place(1), has_all) == "; the user has chosen adapters");
  const IsSet has_tls = [](const char* name) { return name == std::string("UCX_TLS"); };
  CHECK(plan("auto", {hca(0, 0), hca(1, 1)}, place(1), has_tls).starts_with("PSM3_NIC=mlx5_1 "));
}

TEST_CASE("nic=auto sets nothing where it could only do harm") {
  CHECK(plan("auto", kOne, place(0)).starts_with("; "));
  CHECK(plan("auto", kTwo, place(0, 0, 8, 1)) == "; the step is on one node");
  CHECK(plan("auto", kTwo, place(-1)) == "; the rank's CPUs are not on one NUMA node");
  CHECK(plan("auto", kFour, place(0, 0, 2)).starts_with("; the node has more adapters than ranks"));
  CHECK(plan("auto", {unit(0, -1), unit(1, -1)}, place(0)).find("does not tell") !=
        std::string::npos);
  CHECK(plan("auto", {hca(0, 0, true), hca(1, 1, true)}, place(0)).starts_with("; "));
  CHECK(plan("auto", {hca(0, 0), hca(1, 1, false, "0x7 fe80")}, place(0)) ==
        "; the adapters are of several subnets or speeds");
  Device eth{DeviceKind::kEthernet, "eth0"};
  eth.state = LinkState::kActive;
  CHECK(plan("auto", {eth, eth}, place(0)).starts_with("; "));
}

TEST_CASE("adapters are looked for only if the choice depends on them") {
  CHECK(needed_adapters("auto", place(0)) == NeededAdapters::kFabrics);
  CHECK(needed_adapters("auto", place(0, 0, 8, 1)) == NeededAdapters::kNone);
  CHECK(needed_adapters("auto", place(-1)) == NeededAdapters::kNone);
  CHECK(needed_adapters("rail", place(-1, 0, 8, 1)) == NeededAdapters::kFabrics);
  CHECK(needed_adapters("rail:node", place(0)) == NeededAdapters::kFabrics);
  CHECK(needed_adapters("eth0", place(0)) == NeededAdapters::kAll);
  CHECK(plan("auto", {}, place(-1)) == plan("auto", kTwo, place(-1)));
  CHECK(plan("auto", {}, place(0, 0, 8, 1)) == plan("auto", kTwo, place(0, 0, 8, 1)));
}

TEST_CASE("nic=rail uses all adapters, nic=rail:node those of the node") {
  CHECK(plan("rail", kTwo, place(0)) ==
        "PSM2_MULTIRAIL=1 PSM2_MULTIRAIL_MAP=0:1,1:1; rails over all adapters");
  CHECK(plan("rail:node", kFour, place(1)) ==
        "PSM2_MULTIRAIL=2 PSM2_MULTIRAIL_MAP=2:1,3:1; rails on the rank's NUMA node");
  CHECK(plan("rail:node", kTwo, place(1)) ==
        "HFI_UNIT=1 FI_OPX_HFI_SELECT=1; rails on the rank's NUMA node");
  CHECK(plan("rail", {hca(0, 0), hca(1, 1)}, place(0)) ==
        "UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1 UCX_MAX_RNDV_RAILS=2 PSM3_MULTIRAIL=1 "
        "FI_VERBS_DEVICE_NAME=mlx5_0,mlx5_1 MV2_IBA_HCA=mlx5_0:mlx5_1 MPIR_CVAR_CH4_OFI_MAX_NICS=2 "
        "MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING=1 I_MPI_MULTIRAIL=1; rails over all adapters");
  CHECK(plan("rail:node", kTwo, place(5)) == "; the rank's NUMA node has no active adapter");
}

TEST_CASE("adapters can be named, of one kind, and have to be there") {
  CHECK(plan("hfi1_1", kTwo, place(0)) == "HFI_UNIT=1 FI_OPX_HFI_SELECT=1; named by nic=");
  CHECK(plan("mlx5_0+mlx5_1", {hca(0, 0), hca(1, 1)}, place(0, 0, 1, 1))
            .starts_with("UCX_NET_DEVICES=mlx5_0:1,mlx5_1:1 "));
  CHECK(plan("mlx5_9", kTwo, place(0)) ==
        "error: nic=mlx5_9: this node has no such adapter; it has hfi1_0, hfi1_1");
  CHECK(plan("hfi1_0+mlx5_0", {kTwo[0], hca(0, 0)}, place(0)) ==
        "error: nic=hfi1_0+mlx5_0: adapters of two kinds; name adapters of one kind");
}
