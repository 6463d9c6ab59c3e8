// SPDX-License-Identifier: Apache-2.0
// A communication matrix as a picture (figure 2.4b of the DeLoc thesis): row = sender, column =
// receiver, darker = more, white = nothing, with a legend in bytes. With a mapping the ranks are
// sorted by NUMA node, then by last-level cache, and the boundaries of both are drawn: traffic
// outside the blocks crosses nodes or caches. The scale is that of log_scale.h. Bytes to other
// machines have a column of their own, "off node", if there are any. More than kMostCells ranks
// share cells (the sum is drawn). Thread safety: pure but for the file.
#pragma once

#include <climits>
#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/comm/comm_matrix.h"

namespace ondeloc {

// Stands for the NUMA node of a rank that runs on another machine. Sorted behind all others.
inline constexpr int kOtherNodes = INT_MAX;

struct HeatMapStyle {
  std::string title;
  bool logarithmic = true;        // else linear from 0 to the largest value
  std::vector<int> node_of_rank;  // NUMA node (kernel's number, kOtherNodes); empty: no overlay
  std::vector<int> cache_of_rank = {};  // last-level cache, any numbers; empty: no boundaries
  std::vector<double> off_node = {};  // bytes that each rank sent to other nodes; empty: not known
};

inline constexpr int kMostCells = 2048;

// `path` ends in .svg or .png. REQUIRES: node_of_rank, cache_of_rank and off_node are empty or have
// matrix.ranks entries.
Status draw_heat_map(const CommMatrix& matrix, const HeatMapStyle& style, const std::string& path);

}  // namespace ondeloc
