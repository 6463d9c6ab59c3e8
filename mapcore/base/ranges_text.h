// SPDX-License-Identifier: Apache-2.0
// Numbers of CPUs or ranks for people. Thread safety: pure function.
#pragma once

#include <span>
#include <string>

namespace ondeloc {

std::string ranges_text(std::span<const int> ascending);  // "0-3,8"

}  // namespace ondeloc
