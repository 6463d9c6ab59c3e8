// SPDX-License-Identifier: Apache-2.0
// The environment that a process of the same user was started with. Thread safety: no state.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ondeloc {

// Name and value of each variable.
using Environment = std::span<const std::pair<std::string, std::string>>;

// The variables of the process, at most 1 MiB of them; empty if it is gone. `root` lets tests read
// a made-up tree.
std::vector<std::pair<std::string, std::string>> environment_of(pid_t pid,
                                                                const std::string& root = "");
// The value of one variable; empty if it is not set.
std::string variable_of(pid_t pid, std::string_view name, const std::string& root = "");

}  // namespace ondeloc
