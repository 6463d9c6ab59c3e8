// SPDX-License-Identifier: Apache-2.0
// The word allow= of plugstack.conf. check_allowed() in options.h obeys it. Thread safety: pure
// functions.
#pragma once

#include <string>
#include <string_view>

#include "mapcore/options/options.h"

namespace ondeloc {

// "online,static,coordinated,ranks:4096". Error: an unknown or repeated word.
Status set_allowed(Allowed& allowed, std::string_view list);
// The inverse of set_allowed().
std::string allowed_text(const Allowed& allowed);

}  // namespace ondeloc
