// SPDX-License-Identifier: Apache-2.0
// Messages over time, coloured by cluster: figure 2.6 of the DeLoc thesis. x = seconds since the
// first message, y = messages in each time bin, and as a line the bytes. Clusters with alike
// matrices share a colour; neighbours with different ones never do. Thread safety: pure but for the
// file.
#pragma once

#include <cstdint>
#include <string>

#include "mapcore/base/result.h"
#include "mapcore/profile/clusters.h"

namespace ondeloc {

// `zero_ns`: when the first message of the run was sent, also if the clusters are of a later part.
// `path` ends in .svg or .png.
Status draw_timeline(const Clusters& clusters, std::uint64_t zero_ns, const std::string& title,
                     const std::string& path);

}  // namespace ondeloc
