// SPDX-License-Identifier: Apache-2.0
#include "spank/items.h"

#include <cstring>

namespace ondeloc {

std::optional<std::string> job_env(spank_t spank, const char* name, std::size_t most) {
  std::string value(most + 1, '\0');
  if (spank_getenv(spank, name, value.data(), static_cast<int>(value.size())) != ESPANK_SUCCESS)
    return std::nullopt;
  value.resize(std::strlen(value.c_str()));
  return value;
}

std::optional<std::uint32_t> job_env_number(spank_t spank, const char* name) {
  const auto text = job_env(spank, name, 32);
  if (!text) return std::nullopt;
  const auto number = parse_unsigned(*text, UINT32_MAX);
  if (!number) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

}  // namespace ondeloc
