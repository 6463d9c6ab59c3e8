// SPDX-License-Identifier: Apache-2.0
// spank_get_item and the job's environment with C++ types. Thread safety: as SPANK.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "mapcore/base/result.h"
#include "mapcore/base/text.h"

#include "spank/slurm_spank.h"

namespace ondeloc {

// The item, or nothing if Slurm does not give it in this context.
template <class T, class... Key>
std::optional<T> item(spank_t spank, spank_item_t which, Key... key) {
  T value{};
  if (spank_get_item(spank, which, key..., &value) != ESPANK_SUCCESS) return std::nullopt;
  return value;
}

// A variable of the job (in a task: of the task), or nothing if it is unset. If the value is longer
// than `most`, `job_env` returns nothing and `job_env_whole` returns an error.
std::optional<std::string> job_env(spank_t spank, const char* name, std::size_t most = 4096);
Result<std::optional<std::string>> job_env_whole(spank_t spank, const char* name, std::size_t most);
std::optional<std::uint32_t> job_env_number(spank_t spank, const char* name);

}  // namespace ondeloc
