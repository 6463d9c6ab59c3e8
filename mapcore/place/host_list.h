// SPDX-License-Identifier: Apache-2.0
// Lists of host names as Slurm writes them: "login,node[0-3,7],rack1n[08-11]". Leading zeros are
// kept, as in Slurm's hostlist. Thread safety: pure function.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/result.h"

namespace ondeloc {

inline constexpr std::size_t kMostHosts = 1024;

// Returns the names in order. Errors: a character that a host name cannot have, a bracket that is
// not closed, a second pair of brackets in one name, a range that ends before it begins, a name
// that appears twice, more than kMostHosts names.
Result<std::vector<std::string>> expand_hosts(std::string_view list);

}  // namespace ondeloc
