// SPDX-License-Identifier: Apache-2.0
// spank_get_item and the job's environment with the types of this code. Thread safety: as SPANK.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "mapcore/base/result.h"
#include "mapcore/base/text.h"

#include "spank/slurm_spank.h"

namespace ondeloc {

// The item, or nothing where Slurm does not give it in this context.
template <class T, class... Key>
std::optional<T> item(spank_t spank, spank_item_t which, Key... key) {
  T value{};
  if (spank_get_item(spank, which, key..., &value) != ESPANK_SUCCESS) return std::nullopt;
  return value;
}

// A variable of the job (in the task: of the task), nothing when it is unset. `job_env` takes one
// that is longer than `most` for unset; `job_env_whole` tells.
std::optional<std::string> job_env(spank_t spank, const char* name, std::size_t most = 4096);
Result<std::optional<std::string>> job_env_whole(spank_t spank, const char* name, std::size_t most);
std::optional<std::uint32_t> job_env_number(spank_t spank, const char* name);

}  // namespace ondeloc
