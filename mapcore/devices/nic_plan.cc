// SPDX-License-Identifier: Apache-2.0
#include "mapcore/devices/nic_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <set>

#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

// kUnit: the number in the name, "0" of hfi1_0; kPort: "mlx5_0:1"; kUnitPort: "0:1"; kColons: names
// joined by ':' instead of ','; kCount and the others do not depend on the adapter.
enum class Writes { kName, kUnit, kPort, kUnitPort, kColons, kCount, kOne, kOneOrTwo, kNuma };
// kLocal: one adapter, on the rank's NUMA node, chosen by auto.
enum class When { kAlways, kSingle, kLocal, kRails };

// Sources: the variables that each stack reads, as documented by its project.
constexpr NicStack kPsm2{
    "PSM2", {"HFI_UNIT", "HFI_SELECTION_ALG", "PSM2_MULTIRAIL", "PSM2_MULTIRAIL_MAP", "HFI_PORT"}};
constexpr NicStack kOpx{"OPX", {"FI_OPX_HFI_SELECT", "FI_OPX_PORT"}};
constexpr NicStack kPsm3{
    "PSM3", {"PSM3_NIC", "PSM3_NIC_SELECTION_ALG", "PSM3_MULTIRAIL", "PSM3_MULTIRAIL_MAP"}};
// A list of transports may need devices that the choice would exclude.
constexpr NicStack kUcx{"UCX",
                        {"UCX_NET_DEVICES", "UCX_TLS", "UCX_MAX_RNDV_RAILS", "UCX_MAX_RNDV_LANES",
                         "UCX_SINGLE_NET_DEVICE"}};
constexpr NicStack kOfiVerbs{"libfabric verbs", {"FI_VERBS_DEVICE_NAME", "FI_VERBS_IFACE"}};
constexpr NicStack kOfiCxi{"libfabric cxi", {"FI_CXI_DEVICE_NAME"}};
constexpr NicStack kOfiEfa{"libfabric efa", {"FI_EFA_IFACE"}};
constexpr NicStack kOfiTcp{"libfabric tcp", {"FI_TCP_IFACE"}};
constexpr NicStack kMvapich{"MVAPICH2", {"MV2_IBA_HCA", "MV2_NUM_HCAS"}};
constexpr NicStack kOpenMpi{"Open MPI tcp",
                            {"OMPI_MCA_btl_tcp_if_include", "OMPI_MCA_btl_tcp_if_exclude"}};
// These libraries see only the adapters that the variables of libfabric leave, so one adapter needs
// no variable of theirs. A user who sets one of these wants the library itself to choose among all
// adapters: nothing is set then.
constexpr NicStack kMpich{
    "MPICH",
    {"MPIR_CVAR_CH4_OFI_MAX_NICS", "MPIR_CVAR_CH4_OFI_PREF_NIC",
     "MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING", "MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_HASHING"}};
constexpr NicStack kCray{"Cray MPICH",
                         {"MPICH_OFI_NIC_POLICY", "MPICH_OFI_NIC_MAPPING", "MPICH_OFI_NUM_NICS"}};
constexpr NicStack kIntel{"Intel MPI", {"I_MPI_MULTIRAIL", "I_MPI_OFI_NIC_AFFINITY"}};
constexpr const NicStack* kLibraries[] = {&kMpich, &kCray, &kIntel};

constexpr const NicStack* kStacks[] = {&kPsm2,   &kOpx,    &kPsm3,   &kUcx,     &kOfiVerbs,
                                       &kOfiCxi, &kOfiEfa, &kOfiTcp, &kMvapich, &kOpenMpi,
                                       &kMpich,  &kCray,   &kIntel};

struct Variable {
  DeviceKind kind;
  const char* name;
  Writes writes;
  When when;
  const NicStack& stack;
};

constexpr Variable kVariables[] = {
    {DeviceKind::kOmniPath, "HFI_UNIT", Writes::kUnit, When::kSingle, kPsm2},
    {DeviceKind::kOmniPath, "FI_OPX_HFI_SELECT", Writes::kUnit, When::kSingle, kOpx},
    {DeviceKind::kOmniPath, "PSM2_MULTIRAIL", Writes::kOneOrTwo, When::kRails, kPsm2},
    {DeviceKind::kOmniPath, "PSM2_MULTIRAIL_MAP", Writes::kUnitPort, When::kRails, kPsm2},
    {DeviceKind::kInfiniband, "UCX_NET_DEVICES", Writes::kPort, When::kAlways, kUcx},
    {DeviceKind::kInfiniband, "UCX_MAX_RNDV_RAILS", Writes::kCount, When::kRails, kUcx},
    {DeviceKind::kInfiniband, "PSM3_NIC", Writes::kName, When::kSingle, kPsm3},
    {DeviceKind::kInfiniband, "PSM3_MULTIRAIL", Writes::kOneOrTwo, When::kRails, kPsm3},
    {DeviceKind::kInfiniband, "FI_VERBS_DEVICE_NAME", Writes::kName, When::kAlways, kOfiVerbs},
    {DeviceKind::kInfiniband, "MV2_IBA_HCA", Writes::kColons, When::kAlways, kMvapich},
    {DeviceKind::kInfiniband, "MPIR_CVAR_CH4_OFI_MAX_NICS", Writes::kCount, When::kRails, kMpich},
    {DeviceKind::kInfiniband, "MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING", Writes::kOne,
     When::kRails, kMpich},
    {DeviceKind::kInfiniband, "I_MPI_MULTIRAIL", Writes::kOne, When::kRails, kIntel},
    {DeviceKind::kSlingshot, "FI_CXI_DEVICE_NAME", Writes::kName, When::kAlways, kOfiCxi},
    // Cray MPICH ends the step if a rank with this policy is not on one NUMA node.
    {DeviceKind::kSlingshot, "MPICH_OFI_NIC_POLICY", Writes::kNuma, When::kLocal, kCray},
    {DeviceKind::kSlingshot, "MPIR_CVAR_CH4_OFI_MAX_NICS", Writes::kCount, When::kRails, kMpich},
    {DeviceKind::kSlingshot, "MPIR_CVAR_CH4_OFI_ENABLE_MULTI_NIC_STRIPING", Writes::kOne,
     When::kRails, kMpich},
    {DeviceKind::kSlingshot, "I_MPI_MULTIRAIL", Writes::kOne, When::kRails, kIntel},
    {DeviceKind::kEfa, "FI_EFA_IFACE", Writes::kName, When::kAlways, kOfiEfa},
    {DeviceKind::kEthernet, "UCX_NET_DEVICES", Writes::kName, When::kAlways, kUcx},
    {DeviceKind::kEthernet, "FI_TCP_IFACE", Writes::kName, When::kAlways, kOfiTcp},
    {DeviceKind::kEthernet, "OMPI_MCA_btl_tcp_if_include", Writes::kName, When::kAlways, kOpenMpi},
};

std::string unit_of(const Device& device) {
  std::size_t digits = device.name.size();
  while (digits > 0 && std::isdigit(static_cast<unsigned char>(device.name[digits - 1])) != 0)
    --digits;
  return device.name.substr(digits);
}

std::string piece_of(const Device& device, Writes writes) {
  const int port = std::max(1, device.port);
  switch (writes) {
    case Writes::kUnit:
      return unit_of(device);
    case Writes::kPort:
      return fmt::format("{}:{}", device.name, port);
    case Writes::kUnitPort:
      return fmt::format("{}:{}", unit_of(device), port);
    default:
      return device.name;
  }
}

struct Choice {
  std::vector<Device> devices;  // of one kind, not empty
  bool rails = false;           // use all of them together
  bool on_node = false;
  bool local = false;  // chosen by auto, on the rank's NUMA node
};

std::string value_of(const Variable& variable, const Choice& choice) {
  if (variable.writes == Writes::kCount) return fmt::format("{}", choice.devices.size());
  if (variable.writes == Writes::kOneOrTwo) return choice.on_node ? "2" : "1";
  if (variable.writes == Writes::kOne) return "1";
  if (variable.writes == Writes::kNuma) return "NUMA";
  std::string value;
  const char* const between = variable.writes == Writes::kColons ? ":" : ",";
  for (const Device& device : choice.devices)
    value += (value.empty() ? "" : between) + piece_of(device, variable.writes);
  return value;
}

bool goes_with(When when, const Choice& choice) {
  switch (when) {
    case When::kSingle:
      return !choice.rails;
    case When::kLocal:
      return choice.local;
    case When::kRails:
      return choice.rails;
    default:
      return true;
  }
}

bool is_users(const NicStack& stack, const IsSet& is_set) {
  return std::any_of(stack.chosen_by.begin(), stack.chosen_by.end(),
                     [&](const char* name) { return name != nullptr && is_set(name); });
}

void add_variables(const Choice& choice, const IsSet& is_set, NicPlan& plan) {
  const bool library_chooses =
      std::any_of(std::begin(kLibraries), std::end(kLibraries),
                  [&](const NicStack* library) { return is_users(*library, is_set); });
  for (const Variable& variable : kVariables)
    if (variable.kind == choice.devices.front().kind && goes_with(variable.when, choice) &&
        !library_chooses && !is_users(variable.stack, is_set))
      plan.variables.emplace_back(variable.name, value_of(variable, choice));
  if (plan.variables.empty()) plan.why = "the user has chosen adapters";
}

std::string names_of(const std::vector<Device>& devices) {
  std::string names;
  for (const Device& device : devices) names += (names.empty() ? "" : ", ") + device.name;
  return names;
}

// The adapters of the fastest kind of fabric that has an active one. They reach each other as far
// as the node can tell.
std::vector<Device> fabric_of(std::span<const Device> adapters) {
  std::vector<Device> fabric;
  for (const DeviceKind kind :
       {DeviceKind::kOmniPath, DeviceKind::kInfiniband, DeviceKind::kSlingshot, DeviceKind::kEfa}) {
    for (const Device& device : adapters)
      if (device.kind == kind && device.state == LinkState::kActive && !device.ethernet)
        fabric.push_back(device);
    if (!fabric.empty()) break;
  }
  return fabric;
}

bool is_one_fabric(const std::vector<Device>& devices) {
  return std::all_of(devices.begin(), devices.end(), [&](const Device& device) {
    return device.fabric == devices.front().fabric && device.gigabits == devices.front().gigabits;
  });
}

constexpr const char* kTooFewAdapters = "the node has fewer than two adapters of one fabric";

// Empty if auto may choose, as far as that does not depend on the adapters.
std::string objection(const NicPlace& place) {
  if (place.nodes < 2) return "the step is on one node";
  return place.rank.node < 0 ? "the rank's CPUs are not on one NUMA node" : "";
}

std::string objection(const std::vector<Device>& fabric, const NicPlace& place) {
  if (std::string why = objection(place); !why.empty()) return why;
  if (fabric.size() < 2) return kTooFewAdapters;
  if (!is_one_fabric(fabric)) return "the adapters are of several subnets or speeds";
  if (place.ranks < static_cast<int>(fabric.size()))
    return "the node has more adapters than ranks, so each rank can use several";
  const bool known = std::all_of(fabric.begin(), fabric.end(),
                                 [](const Device& device) { return device.node >= 0; });
  return known ? "" : "the machine does not tell where the adapters are";
}

std::string reason_for(const Device& device, const NicPlace& place) {
  if (device.node == place.rank.node)
    return fmt::format("{} is on the rank's NUMA node {}", device.name, device.node);
  return fmt::format("{} is nearest: NUMA node {} has no active adapter", device.name,
                     place.rank.node);
}

Result<NicPlan> plan_named(std::string_view names, std::span<const Device> adapters,
                           const IsSet& is_set) {
  Choice choice;
  for (const std::string_view name : split(names, '+')) {
    const auto found = std::find_if(adapters.begin(), adapters.end(),
                                    [&](const Device& device) { return device.name == name; });
    if (found == adapters.end())
      return Error(
          fmt::format("nic={}: this node has no such adapter; it has {}", shorten(name),
                      adapters.empty() ? "none" : names_of({adapters.begin(), adapters.end()})));
    if (!choice.devices.empty() && choice.devices.front().kind != found->kind)
      return Error(
          fmt::format("nic={}: adapters of two kinds; name adapters of one kind", shorten(names)));
    choice.devices.push_back(*found);
  }
  choice.rails = choice.devices.size() > 1;
  NicPlan plan;
  plan.why = "named by nic=";
  add_variables(choice, is_set, plan);
  return plan;
}

}  // namespace

std::string NicPlan::text() const {
  std::string text;
  for (const auto& [name, value] : variables)
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name, value);
  return text + "; " + why;
}

NeededAdapters needed_adapters(std::string_view nic, const NicPlace& place) {
  if (nic == "auto")
    return objection(place).empty() ? NeededAdapters::kFabrics : NeededAdapters::kNone;
  return nic == "rail" || nic == "rail:node" ? NeededAdapters::kFabrics : NeededAdapters::kAll;
}

Result<NicPlan> plan_nic(std::string_view nic, std::span<const Device> adapters,
                         const NicPlace& place, const IsSet& is_set) {
  const bool rails = nic == "rail" || nic == "rail:node";
  if (!rails && nic != "auto") return plan_named(nic, adapters, is_set);
  Choice choice;
  NicPlan plan;
  const std::vector<Device> fabric = fabric_of(adapters);
  if (rails && fabric.size() < 2) {
    plan.why = kTooFewAdapters;
  } else if (!rails) {
    plan.why = objection(fabric, place);
  }
  if (!plan.why.empty()) return plan;
  AdapterRequest request = place.rank;
  request.units = fabric;
  if (rails) {
    choice.on_node = nic == "rail:node";
    for (const std::size_t unit : select_rails(request, choice.on_node))
      choice.devices.push_back(fabric[unit]);
    choice.rails = choice.devices.size() > 1;
    plan.why = choice.on_node ? "rails on the rank's NUMA node" : "rails over all adapters";
  } else {
    choice.devices.push_back(fabric[*select_adapter(request)]);
    choice.local = choice.devices.front().node == place.rank.node;
    plan.why = reason_for(choice.devices.front(), place);
  }
  if (choice.devices.empty()) {
    plan.why = "the rank's NUMA node has no active adapter";
    return plan;
  }
  add_variables(choice, is_set, plan);
  return plan;
}

namespace {

bool writes_names(Writes writes) {
  return writes == Writes::kName || writes == Writes::kUnit || writes == Writes::kPort ||
         writes == Writes::kUnitPort || writes == Writes::kColons;
}

// UCX takes a name without a port too.
bool is_named(const Device& device, const Variable& variable, std::string_view word) {
  return device.kind == variable.kind &&
         (word == device.name || word == piece_of(device, variable.writes));
}

// Adds the adapters that the word names for one of the kinds that the variable is for.
bool add_named(std::string_view name, std::string_view word, std::span<const Device> adapters,
               std::set<std::size_t>& found) {
  bool known = false;
  for (std::size_t i = 0; i < adapters.size(); ++i)
    for (const Variable& variable : kVariables)
      if (variable.name == name && writes_names(variable.writes) &&
          is_named(adapters[i], variable, word)) {
        found.insert(i);
        known = true;
      }
  return known;
}

}  // namespace

std::vector<std::size_t> adapters_named_by(std::string_view variable, std::string_view value,
                                           std::span<const Device> adapters) {
  const bool colons = std::any_of(
      std::begin(kVariables), std::end(kVariables),
      [&](const Variable& row) { return row.name == variable && row.writes == Writes::kColons; });
  std::set<std::size_t> found;
  for (const std::string_view word : split(value, colons ? ':' : ','))
    if (!add_named(variable, trim_blanks(word), adapters, found)) return {};
  return {found.begin(), found.end()};
}

std::vector<const char*> nic_variables() {
  std::vector<const char*> all;
  for (const NicStack* stack : kStacks)
    for (const char* name : nic_variables(*stack)) all.push_back(name);
  return all;
}

std::vector<NicStack> nic_stacks() {
  std::vector<NicStack> stacks;
  for (const NicStack* stack : kStacks) stacks.push_back(*stack);
  return stacks;
}

std::vector<const char*> nic_variables(const NicStack& stack) {
  std::vector<const char*> names;
  for (const Variable& variable : kVariables)
    if (std::string_view(variable.stack.name) == stack.name &&
        std::none_of(names.begin(), names.end(),
                     [&](std::string_view name) { return name == variable.name; }))
      names.push_back(variable.name);
  return names;
}

}  // namespace ondeloc
