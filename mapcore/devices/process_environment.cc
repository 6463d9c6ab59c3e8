// SPDX-License-Identifier: Apache-2.0
#include "mapcore/devices/process_environment.h"

#include <fmt/format.h>

#include "mapcore/base/text.h"
#include "mapcore/devices/sysfs.h"

namespace ondeloc {
namespace {

constexpr std::size_t kMostEnvironment = 1 << 20;

}  // namespace

std::vector<std::pair<std::string, std::string>> environment_of(pid_t pid,
                                                                const std::string& root) {
  std::vector<std::pair<std::string, std::string>> variables;
  const std::string text = Sysfs(root).read(fmt::format("/proc/{}/environ", pid), kMostEnvironment);
  for (const std::string_view entry : split(text, '\0')) {
    const std::size_t equals = entry.find('=');
    if (equals != entry.npos)
      variables.emplace_back(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

std::string variable_of(pid_t pid, std::string_view name, const std::string& root) {
  for (auto& [key, value] : environment_of(pid, root))
    if (key == name) return std::move(value);
  return "";
}

}  // namespace ondeloc
