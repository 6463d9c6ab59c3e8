// SPDX-License-Identifier: Apache-2.0
// Whether a file that ondeloc executes or preloads is one that only root can have put there.
#pragma once

#include <string>

#include "mapcore/base/result.h"

namespace ondeloc {

// A regular file of root, not writable by group or others, that this process may open for `mode`
// (R_OK, X_OK). The error says which of these failed. Nothing is opened.
Status check_trusted_file(const std::string& path, int mode);

}  // namespace ondeloc
