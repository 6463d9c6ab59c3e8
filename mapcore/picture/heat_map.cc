// SPDX-License-Identifier: Apache-2.0
#include "mapcore/picture/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "mapcore/base/quantity.h"
#include "mapcore/picture/canvas.h"

namespace ondeloc {
namespace {

constexpr double kLeft = 90, kTop = 70, kRight = 170, kBottom = 70;
constexpr double kSide = 1024;  // the plot's largest side while a rank has a cell of its own
constexpr Colour kBoundary = 0xD62728;
constexpr double kDigit = 8.5;  // width of a digit of size 13, and a little more

// White over blue to nearly black, falling in lightness all the way.
Colour shade(double share) {
  constexpr std::array<std::array<double, 3>, 6> kStops = {{{0.93, 0.96, 1.00},
                                                            {0.72, 0.84, 0.95},
                                                            {0.42, 0.68, 0.88},
                                                            {0.16, 0.46, 0.75},
                                                            {0.04, 0.25, 0.54},
                                                            {0.01, 0.08, 0.23}}};
  const double at = std::clamp(share, 0.0, 1.0) * (kStops.size() - 1);
  const auto low = std::min(static_cast<std::size_t>(at), kStops.size() - 2);
  const double part = at - static_cast<double>(low);
  Colour colour = 0;
  for (std::size_t c = 0; c < 3; ++c) {
    const double value = kStops[low][c] * (1 - part) + kStops[low + 1][c] * part;
    colour = colour << 8 | static_cast<Colour>(std::lround(value * 255));
  }
  return colour;
}

struct Scale {
  double low = 0, high = 1;
  bool logarithmic = true;
  double share(double value) const {
    if (!logarithmic || low >= high) return value / high;
    return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
  }
  double value(double share) const {
    if (!logarithmic || low >= high) return share * high;
    return low * std::pow(high / low, share);
  }
};

// The matrix as drawn: ranks sorted, cells shared where there are too many.
struct Grid {
  int ranks = 0, cells = 0;
  std::vector<int> order;  // rank at each position
  std::vector<double> values;
  double per_cell() const { return static_cast<double>(ranks) / cells; }
};

Grid make_grid(const CommMatrix& matrix, const std::vector<int>& node_of_rank) {
  Grid grid;
  grid.ranks = matrix.ranks;
  grid.cells = std::min(matrix.ranks, kMostCells);
  grid.order.resize(static_cast<std::size_t>(matrix.ranks));
  std::iota(grid.order.begin(), grid.order.end(), 0);
  if (!node_of_rank.empty()) {
    std::stable_sort(grid.order.begin(), grid.order.end(), [&](int a, int b) {
      return node_of_rank[static_cast<std::size_t>(a)] < node_of_rank[static_cast<std::size_t>(b)];
    });
  }
  std::vector<std::size_t> place(grid.order.size());
  for (std::size_t p = 0; p < grid.order.size(); ++p)
    place[static_cast<std::size_t>(grid.order[p])] =
        p * static_cast<std::size_t>(grid.cells) / grid.order.size();
  const auto side = static_cast<std::size_t>(grid.cells);
  grid.values.assign(side * side, 0);
  for (const MatrixEntry& e : matrix.entries) {
    grid.values[place[static_cast<std::size_t>(e.src)] * side +
                place[static_cast<std::size_t>(e.dst)]] += e.bytes;
  }
  return grid;
}

Scale scale_of(const Grid& grid, bool logarithmic) {
  Scale scale{0, 0, logarithmic};
  for (const double value : grid.values) {
    if (value <= 0) continue;
    scale.high = std::max(scale.high, value);
    scale.low = scale.low == 0 ? value : std::min(scale.low, value);
  }
  // Values within less than a factor of ten are all dark: the eye would take shades for more.
  scale.low = std::min(scale.low, scale.high / 10);
  if (scale.high == 0) scale = {0, 1, false};
  return scale;
}

std::vector<Colour> colours_of(const Grid& grid, const Scale& scale) {
  std::vector<Colour> colours;
  colours.reserve(grid.values.size());
  for (const double value : grid.values)
    colours.push_back(value > 0 ? shade(scale.share(value)) : kPaper);
  return colours;
}

// 1, 2, 4, 8, ... so that at most 16 labels stand on an axis.
int label_step(int ranks) {
  int step = 1;
  while (ranks / step > 16) step *= 2;
  return step;
}

void draw_axes(Canvas& canvas, const Box& plot, const Grid& grid) {
  const int step = label_step(grid.ranks);
  const double unit = plot.width / grid.ranks;
  for (int p = 0; p < grid.ranks; p += step) {
    const double middle = (p + 0.5) * unit;
    const std::string label = fmt::format("{}", grid.order[static_cast<std::size_t>(p)]);
    canvas.line(plot.x - 5, plot.y + middle, plot.x, plot.y + middle, kInk);
    canvas.text(plot.x - 9, plot.y + middle + 4.5, label, 13, Align::kRight);
    canvas.line(plot.x + middle, plot.y + plot.height, plot.x + middle, plot.y + plot.height + 5,
                kInk);
    canvas.text(plot.x + middle, plot.y + plot.height + 20, label, 13, Align::kCentre);
  }
  canvas.frame(plot, kInk);
  canvas.text(plot.x + plot.width / 2, plot.y + plot.height + 46, "receiving rank", 15,
              Align::kCentre);
  canvas.text(plot.x - 58, plot.y + plot.height / 2, "sending rank", 15, Align::kCentre, kInk,
              true);
}

void draw_legend(Canvas& canvas, const Box& plot, const Scale& scale) {
  constexpr int kSteps = 128;
  const Box bar{plot.x + plot.width + 30, plot.y + 30, 22, std::min(plot.height - 60, 400.0)};
  std::vector<Colour> colours;
  colours.reserve(kSteps);
  for (int i = 0; i < kSteps; ++i) colours.push_back(shade(1 - (i + 0.5) / kSteps));
  canvas.cells(bar, 1, kSteps, colours);
  canvas.frame(bar, kInk);
  canvas.text(bar.x, bar.y - 12, "bytes sent", 14);
  for (int i = 0; i <= 4; ++i) {
    const double y = bar.y + bar.height * (1 - i / 4.0);
    canvas.line(bar.x + bar.width, y, bar.x + bar.width + 5, y, kInk);
    canvas.text(bar.x + bar.width + 9, y + 4.5, bytes_text(scale.value(i / 4.0)), 13);
  }
  const double below = bar.y + bar.height + 24;
  canvas.frame({bar.x, below, bar.width, 14}, kInk);
  canvas.text(bar.x + bar.width + 9, below + 12, "nothing", 13);
}

void draw_nodes(Canvas& canvas, const Box& plot, const Grid& grid, const std::vector<int>& nodes) {
  const double unit = plot.width / grid.ranks;
  auto node_at = [&](int p) {
    return nodes[static_cast<std::size_t>(grid.order[static_cast<std::size_t>(p)])];
  };
  canvas.text(plot.x - 9, plot.y - 6, "NUMA", 13, Align::kRight, kBoundary);
  double free_from = 0;
  for (int from = 0, p = 1; p <= grid.ranks; ++p) {
    if (p < grid.ranks && node_at(p) == node_at(from)) continue;
    const double begin = from * unit, end = p * unit;
    if (p < grid.ranks) {
      canvas.line(plot.x + end, plot.y, plot.x + end, plot.y + plot.height, kBoundary, 1.5);
      canvas.line(plot.x, plot.y + end, plot.x + plot.width, plot.y + end, kBoundary, 1.5);
    }
    const std::string label =
        node_at(from) == kOtherNodes ? "other nodes" : fmt::format("{}", node_at(from));
    const double width = kDigit * static_cast<double>(label.size());
    const double middle = (begin + end) / 2;
    if (middle - width / 2 >= free_from) {  // a label that would touch the one before is left out
      canvas.text(plot.x + middle, plot.y - 6, label, 13, Align::kCentre, kBoundary);
      free_from = middle + width / 2 + kDigit;
    }
    from = p;
  }
}

}  // namespace

Status draw_heat_map(const CommMatrix& matrix, const HeatMapStyle& style, const std::string& path) {
  if (matrix.ranks <= 0) return Error("there is no rank to draw");
  const Grid grid = make_grid(matrix, style.node_of_rank);
  const Scale scale = scale_of(grid, style.logarithmic);
  const double cell = std::max(1.0, std::min(40.0, std::floor(kSide / grid.cells)));
  const double side = std::max(240.0, cell * grid.cells);
  const Box plot{kLeft, kTop, side, side};
  auto canvas = Canvas::create(path, kLeft + side + kRight, kTop + side + kBottom);
  if (!canvas) return std::move(canvas).error();
  canvas->cells(plot, grid.cells, grid.cells, colours_of(grid, scale));
  if (!style.node_of_rank.empty()) draw_nodes(*canvas, plot, grid, style.node_of_rank);
  draw_axes(*canvas, plot, grid);
  draw_legend(*canvas, plot, scale);
  canvas->text(kLeft, 28, style.title, 17);
  const std::string shared =
      grid.cells < grid.ranks ? fmt::format(", {:.1f} ranks per cell", grid.per_cell()) : "";
  canvas->text(kLeft, 48,
               fmt::format("{} ranks, {} between different ranks, {} scale{}", grid.ranks,
                           bytes_text(matrix.total_bytes()),
                           scale.logarithmic ? "logarithmic" : "linear", shared),
               13);
  return canvas->finish();
}

}  // namespace ondeloc
