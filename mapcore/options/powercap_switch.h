// SPDX-License-Identifier: Apache-2.0
// The test switch of plugstack.conf by which slurmstepd reads energy in a made tree: the path
// follows. Thread safety: a constant.
#pragma once

#include <string_view>

namespace ondeloc {

inline constexpr std::string_view kSwitchPowercap = "powercap:";

}  // namespace ondeloc
