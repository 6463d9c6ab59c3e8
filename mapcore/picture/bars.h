// SPDX-License-Identifier: Apache-2.0
// Bars of some figures over several programs, one panel a figure: figures 2.7 and 2.11 of the DeLoc
// thesis. Thread safety: pure but for the file.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mapcore/base/result.h"

namespace ondeloc {

struct BarPanel {
  std::string title;
  std::vector<std::optional<double>> values;  // one a program, >= 0; empty: unavailable
  std::vector<std::string> texts;             // beside the bars
};

// `path` ends in .svg or .png, or is "-". REQUIRES: every panel has as many values and texts as
// there are names.
Status draw_bar_panels(const std::vector<std::string>& names, const std::vector<BarPanel>& panels,
                       const std::string& title, const std::string& path);

}  // namespace ondeloc
