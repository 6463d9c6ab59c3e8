// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/bind_warning.h"

#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "mapcore/base/text.h"
#include "mapcore/devices/gpu_use.h"
#include "mapcore/devices/rank_adapter.h"

namespace ondeloc {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

Variables variables_of(const BindArguments& call) {
  Variables variables;
  for (const std::string_view line : split(call.device_variables, '\n')) {
    const std::size_t equals = line.find('=');
    if (equals != line.npos)
      variables.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return variables;
}

std::string sentence(const BindArguments& call, const BoundRank& rank, const std::string& device,
                     const CpuSet& near) {
  return fmt::format(
      "rank {} is bound to CPUs {}, away from its {}, which is near CPUs {}, and other ranks may "
      "be too; give each rank CPUs near its own device ('ondeloc topology' lists them)",
      call.rank, shorten(rank.pus.to_list()), device, shorten(near.to_list()));
}

std::string warning_of_gpu(const BindArguments& call, const Machine& machine,
                           const Variables& variables, const BoundRank& rank) {
  const GpuUse use = gpus_given_by(variables, machine.devices);
  const CpuSet near = near_gpus(use, machine.devices);
  if (!near.intersects(rank.usable) || rank.pus.is_subset_of(near)) return "";
  return sentence(call, rank, "GPU " + machine.devices[use.gpus.front()].name, near);
}

// nic= wins over the user's variables only for libraries whose variables the user has not set.
std::optional<std::size_t> adapter_of(const BindArguments& call, const Machine& machine,
                                      const Variables& variables) {
  for (std::size_t i = 0; i < machine.devices.size(); ++i)
    if (!is_gpu(machine.devices[i].kind) && machine.devices[i].name == call.nic) return i;
  const auto used = adapters_of_rank(nic_of(variables, machine.devices), machine.devices);
  if (used.size() != 1) return std::nullopt;
  return used.front();
}

std::string warning_of_adapter(const BindArguments& call, const Machine& machine,
                               const Variables& variables, const BoundRank& rank) {
  if (call.nodes < 2) return "";
  const auto used = adapter_of(call, machine, variables);
  if (!used) return "";
  const Device& adapter = machine.devices[*used];
  if (!adapter.near.intersects(rank.unused) || rank.pus.is_subset_of(adapter.near)) return "";
  return sentence(call, rank, "network adapter " + adapter.name, adapter.near);
}

}  // namespace

std::string warning_of_devices(const BindArguments& call, const Machine& machine,
                               const BoundRank& rank) {
  const Variables variables = variables_of(call);
  if (std::string gpu = warning_of_gpu(call, machine, variables, rank); !gpu.empty()) return gpu;
  return warning_of_adapter(call, machine, variables, rank);
}

}  // namespace ondeloc
