// SPDX-License-Identifier: Apache-2.0
#include "mapcore/devices/rank_adapter.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <string>

#include "mapcore/base/text.h"
#include "mapcore/devices/nic_plan.h"

namespace ondeloc {
namespace {

using Adapters = std::vector<std::size_t>;

// The adapters in "VARIABLE=VALUE ...; hfi1_0 is on ...". If nothing was set, the reason behind
// the ';' may name adapters that were not chosen.
Adapters named_in(std::string_view nic, std::span<const Device> devices) {
  Adapters found;
  if (nic.empty() || nic.front() == ';') return found;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const std::string& name = devices[i].name;
    for (std::size_t at = nic.find(name); at != nic.npos; at = nic.find(name, at + 1)) {
      const std::size_t end = at + name.size();
      const bool ends = end == nic.size() || std::string_view(" ,:;").find(nic[end]) != nic.npos;
      if (!ends || is_gpu(devices[i].kind)) continue;
      found.push_back(i);
      break;
    }
  }
  return found;
}

// A library that uses rails ignores the variable that names a single adapter.
constexpr std::pair<std::string_view, std::string_view> kRailsOf[] = {
    {"HFI_UNIT", "PSM2_MULTIRAIL"}, {"PSM3_NIC", "PSM3_MULTIRAIL"}};

bool is_ignored(Environment environment, std::string_view name) {
  return std::any_of(environment.begin(), environment.end(), [&](const auto& variable) {
    return variable.second != "0" &&
           std::any_of(std::begin(kRailsOf), std::end(kRailsOf), [&](const auto& rails) {
             return rails.first == name && rails.second == variable.first;
           });
  });
}

struct Named {
  std::string variables;  // "HFI_UNIT=1 PSM3_NIC=mlx5_0"
  std::set<std::size_t> adapters;
};

// By variables that the user has set. Those that nic= has set are words of `nic`.
Named named_by_user(Environment environment, std::string_view nic,
                    std::span<const Device> devices) {
  const std::vector<std::string_view> ours = split(nic.substr(0, nic.find(';')), ' ');
  const std::vector<const char*> known = nic_variables();
  Named named;
  for (const auto& [name, value] : environment) {
    const std::string word = name + "=" + value;
    if (std::find(known.begin(), known.end(), name) == known.end()) continue;
    if (std::find(ours.begin(), ours.end(), word) != ours.end()) continue;
    if (is_ignored(environment, name)) continue;
    const Adapters adapters = adapters_named_by(name, value, devices);
    if (adapters.empty()) continue;
    named.variables += (named.variables.empty() ? "" : " ") + word;
    named.adapters.insert(adapters.begin(), adapters.end());
  }
  return named;
}

std::string names_of(const Adapters& adapters, std::span<const Device> devices) {
  std::string names;
  for (const std::size_t i : adapters) names += (names.empty() ? "" : ", ") + devices[i].name;
  return names;
}

std::string text_of(const Named& named, std::span<const Device> devices) {
  const Adapters adapters(named.adapters.begin(), named.adapters.end());
  std::string text =
      fmt::format("{}; the user has named {}", named.variables, names_of(adapters, devices));
  const Adapters usual = usual_adapters(devices);
  const bool slower = std::any_of(adapters.begin(), adapters.end(), [&](std::size_t i) {
    return !usual.empty() && devices[i].kind > devices[usual.front()].kind;
  });
  return slower ? fmt::format("{}, but a library may use {}", text, names_of(usual, devices))
                : text;
}

}  // namespace

std::string nic_of(Environment environment, std::span<const Device> devices) {
  std::string nic;
  for (const auto& [name, value] : environment)
    if (name == kNicVariable) nic = value;
  const Named named = named_by_user(environment, nic, devices);
  if (named.adapters.empty()) return nic;
  const bool set_some = !nic.empty() && nic.front() != ';';
  return set_some ? nic + "; " + text_of(named, devices) : text_of(named, devices);
}

Adapters usual_adapters(std::span<const Device> devices) {
  Adapters found;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    const Device& device = devices[i];
    if (is_gpu(device.kind) || device.state != LinkState::kActive) continue;
    if (!found.empty() && device.kind < devices[found.front()].kind) found.clear();
    if (found.empty() || device.kind == devices[found.front()].kind) found.push_back(i);
  }
  return found;
}

Adapters adapters_of_rank(std::string_view nic, std::span<const Device> devices) {
  Adapters named = named_in(nic, devices);
  return named.empty() ? usual_adapters(devices) : named;
}

}  // namespace ondeloc
