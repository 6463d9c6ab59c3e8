// SPDX-License-Identifier: Apache-2.0
// The name under which a node writes its report or profile.
#pragma once

#include <string>

#include "mapcore/segment/layout.h"

namespace ondeloc {

// `pattern` with %j %s %N replaced; a step with ranks elsewhere gets ".NODE" appended where the
// pattern has no %N, so that nodes do not overwrite each other.
std::string file_of_node(const std::string& pattern, const ondeloc_header& header,
                         const std::string& node);

}  // namespace ondeloc
