// SPDX-License-Identifier: Apache-2.0
// A check that only root can change a file that ondeloc executes or preloads.
#pragma once

#include <string>

#include "mapcore/base/result.h"

namespace ondeloc {

// Follows an absolute path from the root directory, links included, and looks at every directory,
// link and the file itself through its own descriptor. Each must belong to root and must not be
// writable by anybody else. Two exceptions hold for directories: root's group may write them, and
// everybody may if they have the sticky bit, since then nobody else can replace root's entry. The
// file must be regular, and this process must be allowed to use it for `mode` (R_OK, X_OK). The
// error names the component that is wrong. After success the path can be used by name: only root
// can make it lead elsewhere.
Status check_trusted_file(const std::string& path, int mode);

}  // namespace ondeloc
