// SPDX-License-Identifier: Apache-2.0
// From the option nic= to the variables of the network stacks. Thread safety: pure functions.
//
// A variable is set only if the user has set neither it nor another that chooses adapters for the
// same stack, and only if the node has several adapters of the kind. Nothing is set if the user has
// told an MPI library how to choose. Stacks that a program does not use ignore their variables.
#pragma once

#include <array>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/devices/pick_adapter.h"

namespace ondeloc {

// The variable that tells the mapper, and a step started inside this one, what was set:
// "HFI_UNIT=0 FI_OPX_HFI_SELECT=0; hfi1_0 is on NUMA node 0".
inline constexpr const char* kNicVariable = "ONDELOC_NIC";

struct NicPlace {
  AdapterRequest rank;  // without units and the user's choice
  int ranks = 1;        // of the step on this node
  int nodes = 1;        // of the step
};

struct NicPlan {
  std::vector<std::pair<std::string, std::string>> variables;  // empty: nothing is set
  std::string why;                                             // one sentence
  std::string text() const;                                    // for kNicVariable
};

// True if the user has set the variable.
using IsSet = std::function<bool(const char* name)>;

// `nic`: "auto", "rail", "rail:node" or names of adapters joined by '+'. auto sets nothing for
//   - a step on one node;
//   - a rank whose CPUs are not on one NUMA node;
//   - fewer ranks on the node than adapters: each rank could use several;
//   - adapters whose places are not known, or that may not reach each other (RDMA over Ethernet,
//     ports of other subnets, Ethernet).
// Error: the node does not have an adapter that was named.
// `adapters`: those of needed_adapters().
Result<NicPlan> plan_nic(std::string_view nic, std::span<const Device> adapters,
                         const NicPlace& place, const IsSet& is_set);

// kFabrics: those that are not Ethernet.
enum class NeededAdapters { kNone, kFabrics, kAll };
NeededAdapters needed_adapters(std::string_view nic, const NicPlace& place);

// A network library, or an MPI library with a choice of its own. ondeloc(7) lists all of them.
struct NicStack {
  const char* name;                        // "PSM2"
  std::array<const char*, 5> chosen_by{};  // variables by which a user chooses adapters for it
};
std::vector<NicStack> nic_stacks();

// The adapters that the value of one of nic_variables() names, as positions in `adapters`, in
// ascending order. Empty if the value has a word that names none of them, such as "all": the
// library then chooses by a rule of its own.
std::vector<std::size_t> adapters_named_by(std::string_view variable, std::string_view value,
                                           std::span<const Device> adapters);

// The variables that a plan may set for the stack, and for all stacks.
std::vector<const char*> nic_variables(const NicStack& stack);
std::vector<const char*> nic_variables();

}  // namespace ondeloc
