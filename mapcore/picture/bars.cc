// SPDX-License-Identifier: Apache-2.0
#include "mapcore/picture/bars.h"

#include <algorithm>

#include "mapcore/base/text.h"
#include "mapcore/picture/canvas.h"

namespace ondeloc {
namespace {

constexpr double kNames = 180, kBars = 420, kTexts = 200, kMargin = 20;
constexpr double kRow = 22, kHeading = 34, kTitle = 46;
constexpr Colour kBar = 0x4878A8;

double panel_height(std::size_t rows) { return kHeading + kRow * static_cast<double>(rows); }

void draw_panel(Canvas& canvas, const std::vector<std::string>& names, const BarPanel& panel,
                double top) {
  double most = 0;
  for (const auto& value : panel.values) most = std::max(most, value.value_or(0));
  canvas.text(kMargin, top + 20, panel.title, 15);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const double y = top + kHeading + kRow * static_cast<double>(i);
    const double width = most > 0 ? kBars * panel.values[i].value_or(0) / most : 0;
    canvas.text(kMargin + kNames - 8, y + 11, names[i], 13, Align::kRight);
    canvas.fill({kMargin + kNames, y, width, kRow - 7}, kBar);
    canvas.text(kMargin + kNames + width + 8, y + 11, panel.texts[i], 13);
  }
}

}  // namespace

Status draw_bar_panels(const std::vector<std::string>& names, const std::vector<BarPanel>& panels,
                       const std::string& title, const std::string& path) {
  const double each = panel_height(names.size());
  const double height = kTitle + each * static_cast<double>(panels.size()) + kMargin;
  auto canvas = Canvas::create(path, kMargin + kNames + kBars + kTexts, height);
  if (!canvas) return std::move(canvas).error();
  canvas->text(kMargin, 30, shorten(title), 17);
  std::vector<std::string> shown;
  for (const std::string& name : names) shown.push_back(shorten(name));
  for (std::size_t i = 0; i < panels.size(); ++i)
    draw_panel(*canvas, shown, panels[i], kTitle + each * static_cast<double>(i));
  return canvas->finish();
}

}  // namespace ondeloc
