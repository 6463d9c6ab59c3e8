// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/adapter_bytes.h"

#include <string>

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

Device adapter(DeviceKind kind, const char* name, const char* near) {
  Device device{kind, name};
  device.near = *CpuSet::parse_list(near);
  device.state = LinkState::kActive;
  return device;
}

Report two_ranks(const char* nic0, const char* nic1) {
  Report report;
  report.ranks.resize(2);
  report.ranks[0].rank = 4;
  report.ranks[0].final_cpus = "0-1";
  report.ranks[0].nic = nic0;
  report.ranks[1].rank = 5;
  report.ranks[1].final_cpus = "8";
  report.ranks[1].nic = nic1;
  report.off_node = {{4, -1, 100, 1}, {5, -1, 30, 1}, {9, -1, 7, 1}};
  return report;
}

std::string text_of(const std::vector<Device>& devices, const Report& report) {
  std::string text;
  for (const ReportAdapter& one : bytes_by_adapter(devices, report))
    text +=
        one.name + " " + std::to_string(one.near_bytes) + "+" + std::to_string(one.far_bytes) + ";";
  return text;
}

}  // namespace

TEST_CASE("all ranks send through the only adapter, from near or far") {
  const std::vector<Device> devices = {adapter(DeviceKind::kInfiniband, "mlx5_0", "0-7"),
                                       adapter(DeviceKind::kEthernet, "eth0", "8-15")};
  CHECK(text_of(devices, two_ranks("", "")) == "mlx5_0 100+30;");
  CHECK(ranks_far_from_adapters(devices, two_ranks("", "")).to_list() == "5");
  Report large = two_ranks("", "");
  large.ranks[1].rank = large.off_node[1].src = 8192;  // more than a node has CPUs
  CHECK(ranks_far_from_adapters(devices, large).to_list() == "8192");
}

TEST_CASE("the adapters that nic= chose for the ranks count") {
  const std::vector<Device> devices = {adapter(DeviceKind::kInfiniband, "mlx5_1", "0-7"),
                                       adapter(DeviceKind::kInfiniband, "mlx5_10", "8-15")};
  CHECK(text_of(devices, two_ranks("", "")).empty());
  CHECK(text_of(devices, two_ranks("UCX_NET_DEVICES=mlx5_1:1; mlx5_1 is on it",
                                   "UCX_NET_DEVICES=mlx5_10:1; mlx5_10 is on it")) ==
        "mlx5_1 100+0;mlx5_10 30+0;");
  CHECK(text_of(devices, two_ranks("UCX_NET_DEVICES=mlx5_10:1; x", "; mlx5_1 is not set")) ==
        "mlx5_10 0+100;");
  CHECK(text_of(devices, two_ranks("UCX_NET_DEVICES=mlx5_1:1,mlx5_10:1; rails", "")).empty());
}

TEST_CASE("an adapter whose place is not known is left out") {
  CHECK(text_of({adapter(DeviceKind::kEfa, "efa_0", "")}, two_ranks("", "")).empty());
  CHECK(text_of({}, two_ranks("", "")).empty());
}
