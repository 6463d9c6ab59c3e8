// SPDX-License-Identifier: Apache-2.0
// Energy for people. Thread safety: pure function, independent of the locale.
#pragma once

#include <string>

namespace ondeloc {

std::string joules_text(double joules);  // four digits: "1.5 J", "12.3 kJ", "2 MJ"

}  // namespace ondeloc
