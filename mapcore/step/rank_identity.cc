// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/rank_identity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "mapcore/binding/proc.h"
#include "mapcore/segment/rank_env.h"

namespace ondeloc {
namespace {

constexpr std::size_t kLongestEnvironment = 1 << 20;

// Slurm and its PMIx set these for each task anew, also in a step that a rank of another step
// starts. ONDELOC_STEP differs between two Slurms of one node that run jobs of the same number.
constexpr std::array kNames = {
    "SLURM_JOB_ID",   "SLURM_STEP_ID", "SLURM_PROCID",
    "PMIX_NAMESPACE", "PMIX_RANK",     ONDELOC_ENV_STEP,
};

// The first value counts, as for getenv(3).
std::optional<std::string_view> value_in(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::size_t end = std::min(environment.find('\0'), environment.size());
    const std::string_view entry = environment.substr(0, end);
    if (entry.size() > name.size() && entry.substr(0, name.size()) == name &&
        entry[name.size()] == '=')
      return entry.substr(name.size() + 1);
    environment.remove_prefix(std::min(end + 1, environment.size()));
  }
  return {};
}

// Empty if the environment cannot be read whole.
std::string environment_of(pid_t pid, const std::string& root) {
  auto text =
      read_small_file(fmt::format("{}/proc/{}/environ", root, pid), kLongestEnvironment + 1);
  if (!text || text->size() > kLongestEnvironment) return {};
  return *std::move(text);
}

}  // namespace

bool name_same_rank(std::string_view environment, std::string_view of_task) {
  return std::all_of(kNames.begin(), kNames.end(), [&](const char* name) {
    const auto own = value_in(environment, name), wanted = value_in(of_task, name);
    return own && !own->empty() && own == wanted;
  });
}

bool is_same_rank(pid_t pid, pid_t task, const std::string& root) {
  const std::string environment = environment_of(pid, root);
  return !environment.empty() && name_same_rank(environment, environment_of(task, root));
}

}  // namespace ondeloc
