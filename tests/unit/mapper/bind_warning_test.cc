// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/bind_warning.h"

#include <string>

#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"
#include "tests/unit/test_data.h"

namespace bind_warning_test {
using namespace ondeloc;

namespace {

// CPU 0 is near renderD128 and mlx5_0, CPU 1 near renderD129 and mlx5_1.
struct Bound {
  Machine machine = *load_machine(test_data() + "/topologies/made-2n-2gpu.xml");
  BindArguments call;
  Bound() {
    call.rank = 3;
    call.nodes = 2;
    call.nic = "off";
  }
  std::string on(const std::string& pus, const std::string& unused = "0-1") const {
    return warning_of_devices(
        call, machine,
        {*CpuSet::parse_list(pus), *CpuSet::parse_list("0-1"), *CpuSet::parse_list(unused)});
  }
};

}  // namespace

TEST_CASE("a rank away from the GPU that it is given is told of") {
  Bound rank;
  rank.call.device_variables = "ROCR_VISIBLE_DEVICES=0000:20:00.0";
  rank.call.nodes = 1;
  CHECK(
      rank.on("0") ==
      "rank 3 is bound to CPUs 0, away from its GPU renderD129, which is near CPUs 1, and other "
      "ranks may be too; give each rank CPUs near its own device ('ondeloc topology' lists them)");
  CHECK_FALSE(rank.on("0-1").empty());
  CHECK(rank.on("1").empty());
  rank.call.device_variables = "ROCR_VISIBLE_DEVICES=0";  // may be either
  CHECK(rank.on("0").empty());
  rank.call.device_variables = "";
  CHECK(rank.on("0").empty());
}

TEST_CASE("a rank away from its adapter is told of if a near CPU is left over") {
  Bound rank;
  CHECK(rank.on("0").empty());  // two adapters: the library takes the near one
  rank.call.device_variables = "HOME=/\nUCX_NET_DEVICES=mlx5_1:1";
  CHECK(rank.on("0").find("network adapter mlx5_1, which is near CPUs 1") != std::string::npos);
  CHECK(rank.on("1").empty());
  CHECK(rank.on("0", "0").empty());
  rank.call.nodes = 1;
  CHECK(rank.on("0").empty());
}

TEST_CASE("an adapter that nic= names is the rank's, with auto the near one") {
  Bound rank;
  rank.call.nic = "mlx5_0";
  CHECK(rank.on("1").find("network adapter mlx5_0") != std::string::npos);
  CHECK(rank.on("0").empty());
  for (const char* nic : {"auto", "rail", "rail:node", "mlx5_0+mlx5_1", ""}) {
    rank.call.nic = nic;
    CHECK(rank.on("0").empty());
    CHECK(rank.on("1").empty());
  }
}

}  // namespace bind_warning_test
