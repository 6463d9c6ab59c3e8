// SPDX-License-Identifier: Apache-2.0
#include "spank/spank_items.h"

#include <fmt/format.h>

#include <cstring>

namespace ondeloc {

Result<std::optional<std::string>> job_env_whole(spank_t spank, const char* name,
                                                 std::size_t most) {
  std::string value(most + 1, '\0');
  const spank_err_t result =
      spank_getenv(spank, name, value.data(), static_cast<int>(value.size()));
  if (result == ESPANK_NOSPACE)
    return Error(fmt::format("{} is longer than {} characters", name, most));
  if (result != ESPANK_SUCCESS) return std::optional<std::string>();
  value.resize(std::strlen(value.c_str()));
  return std::optional(std::move(value));
}

std::optional<std::string> job_env(spank_t spank, const char* name, std::size_t most) {
  auto value = job_env_whole(spank, name, most);
  return value ? *std::move(value) : std::nullopt;
}

std::optional<std::uint32_t> job_env_number(spank_t spank, const char* name) {
  const auto text = job_env(spank, name, 32);
  if (!text) return std::nullopt;
  const auto number = parse_unsigned(*text, UINT32_MAX);
  if (!number) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

}  // namespace ondeloc
