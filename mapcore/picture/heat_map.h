// SPDX-License-Identifier: Apache-2.0
// A communication matrix as a picture (figure 2.4b of the DeLoc thesis): row = sender, column =
// receiver, darker = more, white = nothing, with a legend in bytes. With a mapping the ranks are
// sorted by NUMA node and the nodes' boundaries are drawn: what lies outside the blocks crosses
// nodes. More than kMostCells ranks share cells (the sum is drawn). Thread safety: pure but for the
// file.
#pragma once

#include <climits>
#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/comm/comm_matrix.h"

namespace ondeloc {

// In place of a NUMA node: the rank runs on another machine. Drawn behind all others.
inline constexpr int kOtherNodes = INT_MAX;

struct HeatMapStyle {
  std::string title;
  bool logarithmic = true;        // else linear from 0 to the largest value
  std::vector<int> node_of_rank;  // NUMA node (kernel's number, kOtherNodes); empty: no overlay
};

inline constexpr int kMostCells = 2048;

// `path` ends in .svg or .png. REQUIRES: node_of_rank is empty or has matrix.ranks entries.
Status draw_heat_map(const CommMatrix& matrix, const HeatMapStyle& style, const std::string& path);

}  // namespace ondeloc
