// SPDX-License-Identifier: Apache-2.0
#include "spank/nic.h"

#include <string>

#include "tests/unit/catch.h"
#include "tests/unit/devices/made_tree.h"
#include "tests/unit/spank/fake_spank.h"

#include "spank/task_cpus.h"

using namespace ondeloc;

namespace {

// This process's CPUs are on node 0, and an adapter is on each of two nodes.
struct TwoAdapters {
  TwoAdapters() {
    const std::string kNodes = "/sys/devices/system/node/node";
    tree.write(kNodes + "0/cpulist", own_cpus().to_list());
    tree.write(kNodes + "0/distance", "10 21");
    tree.write(kNodes + "1/cpulist", "8000-8001");
    tree.rdma("hfi1_0", tree.pci("0000:18:00.0", 1, "8000-8001", "hfi1"), "4: ACTIVE");
    tree.rdma("hfi1_1", tree.pci("0000:af:00.0", 0, "0", "hfi1"), "4: ACTIVE");
    step.identity.local_ranks = 4;
    step.request.options.nic = "auto";
    fake.env["SLURM_STEP_NUM_NODES"] = "2";
  }
  Status choose() { return choose_nic(kSpank, step, 2, tree.root()); }
  std::string variable(const char* name) const {
    const auto found = fake.env.find(name);
    return found == fake.env.end() ? "" : found->second;
  }
  MadeTree tree;
  Step step;
  FakeSpank& fake = use_fake();
};

}  // namespace

TEST_CASE("nic=auto gives a task the adapter of its NUMA node") {
  TwoAdapters node;
  REQUIRE(node.choose());
  CHECK(node.variable("HFI_UNIT") == "1");
  CHECK(node.variable("FI_OPX_HFI_SELECT") == "1");
  CHECK(node.variable("ONDELOC_NIC") ==
        "HFI_UNIT=1 FI_OPX_HFI_SELECT=1; hfi1_1 is on the rank's NUMA node 0");
}

TEST_CASE("nic: distances belong to the numbers of the nodes, of which some may be missing") {
  TwoAdapters node;
  const std::string kNodes = "/sys/devices/system/node/node";
  node.tree.remove("/sys/class");
  node.tree.write(kNodes + "8/cpulist", "8002");
  node.tree.write(kNodes + "16/cpulist", "8003");
  node.tree.write(kNodes + "0/distance", "10 21 40 30");
  node.tree.rdma("hfi1_2", node.tree.pci("0000:5e:00.0", 8, "8002", "hfi1"), "4: ACTIVE");
  node.tree.rdma("hfi1_3", node.tree.pci("0000:86:00.0", 16, "8003", "hfi1"), "4: ACTIVE");
  REQUIRE(node.choose());
  CHECK(node.variable("HFI_UNIT") == "3");
}

TEST_CASE("nic: the tasks of a node use the adapters that were found before they were forked") {
  TwoAdapters node;
  find_adapters(kSpank, node.step, node.tree.root());
  node.tree.remove("/sys/class/infiniband");
  REQUIRE(node.choose());
  CHECK(node.variable("HFI_UNIT") == "1");
  // Without a search before, the task searches, and finds none now.
  node.step.state.adapters.reset();
  node.fake.env.erase("HFI_UNIT");
  REQUIRE(node.choose());
  CHECK(node.variable("HFI_UNIT").empty());
}

TEST_CASE("nic: adapters are not looked for if the choice cannot need them") {
  TwoAdapters node;
  node.fake.env["SLURM_STEP_NUM_NODES"] = "1";
  find_adapters(kSpank, node.step, node.tree.root());
  CHECK(node.step.state.adapters->empty());
  node.step.request.options.nic = "off";
  node.step.state.adapters.reset();
  find_adapters(kSpank, node.step, node.tree.root());
  CHECK_FALSE(node.step.state.adapters.has_value());
  node.step.request.options.nic = "hfi1_0";
  find_adapters(kSpank, node.step, node.tree.root());
  CHECK(node.step.state.adapters->size() == 2);
}

TEST_CASE("nic: the site's default, off, and a step on one node") {
  TwoAdapters node;
  node.step.request.options.nic = "site";
  REQUIRE(node.choose());
  CHECK(node.variable("ONDELOC_NIC").empty());
  node.step.request.site.nic = "auto";
  node.step.request.options.nic = "off";
  REQUIRE(node.choose());
  CHECK(node.variable("ONDELOC_NIC").empty());
  node.step.request.options.nic = "site";
  node.fake.env["SLURM_STEP_NUM_NODES"] = "1";
  REQUIRE(node.choose());
  CHECK(node.variable("HFI_UNIT").empty());
  CHECK(node.variable("ONDELOC_NIC") == "; the step is on one node");
}

TEST_CASE("nic: the user's variable stays, and an adapter that is not there is an error") {
  TwoAdapters node;
  node.fake.env["HFI_UNIT"] = "0";
  REQUIRE(node.choose());
  CHECK(node.variable("HFI_UNIT") == "0");
  CHECK(node.variable("FI_OPX_HFI_SELECT") == "1");
  node.step.request.options.nic = "mlx5_0";
  CHECK(node.choose().error().message() ==
        "nic=mlx5_0: this node has no such adapter; it has hfi1_0, hfi1_1");
}

TEST_CASE("a step inside the step does not inherit the choice, but what the user changed since") {
  TwoAdapters node;
  REQUIRE(node.choose());
  node.fake.env["FI_OPX_HFI_SELECT"] = "0";
  remove_inherited_nic(kSpank);
  CHECK(node.variable("HFI_UNIT").empty());
  CHECK(node.variable("ONDELOC_NIC").empty());
  CHECK(node.variable("FI_OPX_HFI_SELECT") == "0");
}
