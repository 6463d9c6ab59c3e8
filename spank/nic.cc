// SPDX-License-Identifier: Apache-2.0
#include "spank/nic.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "mapcore/base/text.h"
#include "mapcore/devices/nic_plan.h"
#include "mapcore/devices/scan.h"
#include "mapcore/devices/sysfs.h"

#include "spank/spank_items.h"
#include "spank/task_cpus.h"

namespace ondeloc {
namespace {

constexpr std::size_t kLongestVariable = 65536;

struct Node {
  int number = -1;
  CpuSet cpus;
  std::vector<int> distances;
};

std::string directory_of_node(int number) {
  return fmt::format("/sys/devices/system/node/node{}", number);
}

// In ascending order; some may be missing between others.
std::vector<int> numbers_of_nodes(const Sysfs& sys) {
  constexpr std::uint64_t kLargest = 4095;  // the kernel has 1024 nodes at most
  std::vector<int> numbers;
  for (const std::string& name : sys.list("/sys/devices/system/node"))
    if (const auto number =
            name.starts_with("node") ? parse_unsigned(name.substr(4), kLargest) : std::nullopt)
      numbers.push_back(static_cast<int>(*number));
  return numbers;
}

// The kernel writes a distance for each node that it has, in the order of their numbers.
std::vector<int> distances_from(const Sysfs& sys, int node, const std::vector<int>& numbers) {
  constexpr int kFarthest = 255;
  std::vector<int> distances(static_cast<std::size_t>(numbers.back()) + 1, kFarthest);
  const std::string text = sys.read(directory_of_node(node) + "/distance");
  auto number = numbers.begin();
  for (const std::string_view distance : split(text, ' ')) {
    if (number == numbers.end()) break;
    distances[static_cast<std::size_t>(*number++)] =
        static_cast<int>(parse_unsigned(distance, kFarthest).value_or(kFarthest));
  }
  return distances;
}

// The NUMA node that holds all CPUs; number -1 if they are on several.
Node node_of(const Sysfs& sys, const CpuSet& cpus) {
  const std::vector<int> numbers = numbers_of_nodes(sys);
  for (const int number : numbers) {
    const auto own = CpuSet::parse_list(sys.read(directory_of_node(number) + "/cpulist"));
    if (own && !cpus.empty() && cpus.is_subset_of(*own))
      return {number, *own, distances_from(sys, number, numbers)};
  }
  return {};
}

bool is_inside(pid_t pid, const CpuSet& cpus) {
  std::array<std::uint64_t, CpuSet::kMaxCpu / 64> words{};
  const long bytes = syscall(SYS_sched_getaffinity, pid, sizeof(words), words.data());
  if (bytes <= 0) return false;
  return CpuSet::from_words(std::span(words).first(static_cast<std::size_t>(bytes) / 8))
      .is_subset_of(cpus);
}

// Counts the tasks before this one that are on the node. slurmstepd has forked the tasks in their
// order, and bound all of them before it lets one run. Static binds each task later, by itself: its
// file may order the ranks in any way, so the number on the compute node has to do.
int index_on(const Node& node, const Step& step, std::uint32_t local_rank) {
  const auto own = static_cast<int>(local_rank);
  const std::string children =
      Sysfs().read(fmt::format("/proc/{0}/task/{0}/children", getppid()), kLongestVariable);
  if (step.request.bind || children.empty()) return own;
  int index = 0;
  for (const std::string_view child : split(children, ' ')) {
    const auto pid = parse_unsigned(child, INT32_MAX);
    if (!pid) continue;
    if (static_cast<pid_t>(*pid) == getpid()) return index;
    if (is_inside(static_cast<pid_t>(*pid), node.cpus)) ++index;
  }
  return own;
}

int nodes_of_step(spank_t spank) {
  return static_cast<int>(job_env_number(spank, "SLURM_STEP_NUM_NODES").value_or(1));
}

NicPlace place_of(spank_t spank, const Step& step, std::uint32_t local_rank, const Sysfs& sys) {
  const Node node = node_of(sys, own_cpus());
  NicPlace place;
  place.rank.node = node.number;
  place.rank.distances = node.distances;
  place.rank.number = static_cast<int>(local_rank);
  place.rank.index = node.number < 0 ? 0 : index_on(node, step, local_rank);
  place.ranks = static_cast<int>(step.identity.local_ranks);
  place.nodes = nodes_of_step(spank);
  return place;
}

std::vector<Device> scan(NeededAdapters needed, const std::string& root) {
  if (needed == NeededAdapters::kNone) return {};
  return needed == NeededAdapters::kAll ? scan_adapters(root) : scan_fabrics(root);
}

}  // namespace

const std::string& nic_in_force(const Step& step) {
  const std::string& users = step.request.options.nic;
  return users == "site" ? step.request.site.nic : users;
}

void find_adapters(spank_t spank, Step& step, const std::string& root) {
  const std::string& nic = nic_in_force(step);
  if (nic == "off") return;
  NicPlace place;
  place.nodes = nodes_of_step(spank);
  place.rank.node = 0;  // each task knows its own later; the kind of search does not depend on it
  step.state.adapters = scan(needed_adapters(nic, place), root);
}

Status choose_nic(spank_t spank, const Step& step, std::uint32_t local_rank,
                  const std::string& root) {
  const std::string& nic = nic_in_force(step);
  if (nic == "off") return {};
  const auto is_set = [&](const char* name) {
    const auto value = job_env_whole(spank, name, kLongestVariable);
    return !value || value->has_value();
  };
  const NicPlace place = place_of(spank, step, local_rank, Sysfs(root));
  const std::vector<Device> adapters =
      step.state.adapters ? *step.state.adapters : scan(needed_adapters(nic, place), root);
  const auto plan = plan_nic(nic, adapters, place, is_set);
  if (!plan) return plan.error();
  for (const auto& [name, value] : plan->variables)
    spank_setenv(spank, name.c_str(), value.c_str(), 1);
  spank_setenv(spank, kNicVariable, plan->text().c_str(), 1);
  return {};
}

void remove_inherited_nic(spank_t spank) {
  const auto noted = job_env(spank, kNicVariable);
  if (!noted) return;
  spank_unsetenv(spank, kNicVariable);
  const std::string_view set = std::string_view(*noted).substr(0, noted->find(';'));
  for (const std::string_view word : split(set, ' ')) {
    for (const char* name : nic_variables())
      if (const auto value = job_env(spank, name);
          value && word == std::string(name) + "=" + *value)
        spank_unsetenv(spank, name);
  }
}

}  // namespace ondeloc
