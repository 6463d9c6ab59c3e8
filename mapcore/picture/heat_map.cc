// SPDX-License-Identifier: Apache-2.0
#include "mapcore/picture/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include "mapcore/base/log_scale.h"
#include "mapcore/base/quantity.h"
#include "mapcore/picture/canvas.h"

namespace ondeloc {
namespace {

constexpr double kLeft = 90, kTop = 70, kRight = 170, kBottom = 70;
constexpr double kOffNodeGap = 22, kOffNodeWidth = 24;
constexpr double kSide = 1024;  // the plot's largest side while a rank has a cell of its own
constexpr Colour kBoundary = 0xD62728;
constexpr Colour kCacheBoundary = 0xE8963A;
constexpr double kDigit = 8.5;  // width of a digit of size 13, and a little more

// From a pale blue, which differs from the paper, to nearly black; the lightness falls all the way.
Colour shade(double share) {
  constexpr std::array<std::array<double, 3>, 6> kStops = {{{0.80, 0.89, 0.97},
                                                            {0.64, 0.79, 0.92},
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
  LogScale log;
  bool logarithmic = true;
  double share(double value) const { return logarithmic ? log.share(value) : value / log.high; }
  // Round values from the low to the high end.
  std::vector<double> ticks() const {
    if (logarithmic) return log.ticks();
    const double step = nice_step(log.high, 5);
    std::vector<double> ticks;
    for (int i = 0; i * step <= log.high * (1 + 1e-9); ++i) ticks.push_back(i * step);
    return ticks;
  }
};

// The matrix as it is drawn: ranks are sorted, and share cells if there are too many.
struct Grid {
  int ranks = 0, cells = 0;
  std::vector<int> order;  // rank at each position
  std::vector<double> values;
  std::vector<double> off_node;  // by row; empty: no such column
  double per_cell() const { return static_cast<double>(ranks) / cells; }
};

double sum_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

Grid make_grid(const CommMatrix& matrix, const HeatMapStyle& style) {
  const std::vector<int>& node_of_rank = style.node_of_rank;
  Grid grid;
  grid.ranks = matrix.ranks;
  grid.cells = std::min(matrix.ranks, kMostCells);
  grid.order.resize(static_cast<std::size_t>(matrix.ranks));
  std::iota(grid.order.begin(), grid.order.end(), 0);
  if (!node_of_rank.empty()) {
    const auto key = [&](int rank) {
      const auto at = static_cast<std::size_t>(rank);
      return std::pair(node_of_rank[at], style.cache_of_rank.empty() ? 0 : style.cache_of_rank[at]);
    };
    std::stable_sort(grid.order.begin(), grid.order.end(),
                     [&](int a, int b) { return key(a) < key(b); });
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
  if (sum_of(style.off_node) > 0) grid.off_node.assign(side, 0);
  for (std::size_t rank = 0; rank < place.size() && !grid.off_node.empty(); ++rank)
    grid.off_node[place[rank]] += style.off_node[rank];
  return grid;
}

Scale scale_of(const Grid& grid, bool logarithmic) {
  std::vector<double> values = grid.values;
  values.insert(values.end(), grid.off_node.begin(), grid.off_node.end());
  Scale scale{log_scale(values), logarithmic};
  if (scale.log.high == 0) scale = {{0, 1}, false};
  return scale;
}

std::vector<Colour> colours_of(const std::vector<double>& values, const Scale& scale) {
  std::vector<Colour> colours;
  colours.reserve(values.size());
  for (const double value : values)
    colours.push_back(value > 0 ? shade(scale.share(value)) : kPaper);
  return colours;
}

// Returns 1, 2, 4, 8, ... so that an axis has at most 16 labels.
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

// A column of its own, right of the plot: no rank of the picture received these bytes.
void draw_off_node(Canvas& canvas, const Box& plot, const Grid& grid, const Scale& scale) {
  if (grid.off_node.empty()) return;
  const Box column{plot.x + plot.width + kOffNodeGap, plot.y, kOffNodeWidth, plot.height};
  canvas.cells(column, 1, grid.cells, colours_of(grid.off_node, scale));
  canvas.frame(column, kInk);
  canvas.text(column.x + column.width / 2, column.y + column.height + 20, "off node", 13,
              Align::kCentre);
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
  for (const double value : scale.ticks()) {
    const double y = bar.y + bar.height * (1 - scale.share(value));
    canvas.line(bar.x + bar.width, y, bar.x + bar.width + 5, y, kInk);
    canvas.text(bar.x + bar.width + 9, y + 4.5, bytes_text(value), 13);
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

// Thin lines between the last-level caches of one NUMA node.
void draw_caches(Canvas& canvas, const Box& plot, const Grid& grid, const HeatMapStyle& style) {
  const double unit = plot.width / grid.ranks;
  const auto at = [&](int p) {
    return static_cast<std::size_t>(grid.order[static_cast<std::size_t>(p)]);
  };
  for (int p = 1; p < grid.ranks && !style.cache_of_rank.empty(); ++p) {
    const std::size_t here = at(p), before = at(p - 1);
    if (style.node_of_rank[here] != style.node_of_rank[before] ||
        style.cache_of_rank[here] == style.cache_of_rank[before])
      continue;
    canvas.line(plot.x + p * unit, plot.y, plot.x + p * unit, plot.y + plot.height, kCacheBoundary,
                0.7);
    canvas.line(plot.x, plot.y + p * unit, plot.x + plot.width, plot.y + p * unit, kCacheBoundary,
                0.7);
  }
}

}  // namespace

Status draw_heat_map(const CommMatrix& matrix, const HeatMapStyle& style, const std::string& path) {
  if (matrix.ranks <= 0) return Error("the matrix holds no rank");
  const Grid grid = make_grid(matrix, style);
  const Scale scale = scale_of(grid, style.logarithmic);
  const double cell = std::max(1.0, std::min(40.0, std::floor(kSide / grid.cells)));
  const double side = std::max(240.0, cell * grid.cells);
  const Box plot{kLeft, kTop, side, side};
  const double beside = grid.off_node.empty() ? 0 : kOffNodeGap + kOffNodeWidth;
  auto canvas = Canvas::create(path, kLeft + side + beside + kRight, kTop + side + kBottom);
  if (!canvas) return std::move(canvas).error();
  canvas->cells(plot, grid.cells, grid.cells, colours_of(grid.values, scale));
  if (!style.node_of_rank.empty()) draw_caches(*canvas, plot, grid, style);
  if (!style.node_of_rank.empty()) draw_nodes(*canvas, plot, grid, style.node_of_rank);
  draw_axes(*canvas, plot, grid);
  draw_off_node(*canvas, plot, grid, scale);
  draw_legend(*canvas, {plot.x, plot.y, plot.width + beside, plot.height}, scale);
  canvas->text(kLeft, 28, style.title, 17);
  const std::string shared =
      grid.cells < grid.ranks ? fmt::format(", {:.1f} ranks per cell", grid.per_cell()) : "";
  const double leaves = sum_of(style.off_node);
  const std::string off_node = leaves > 0 ? fmt::format(", {} off node", bytes_text(leaves)) : "";
  canvas->text(kLeft, 48,
               fmt::format("{} ranks, {} between different ranks{}, {} scale{}", grid.ranks,
                           bytes_text(matrix.total_bytes()), off_node,
                           scale.logarithmic ? "logarithmic" : "linear", shared),
               13);
  return canvas->finish();
}

}  // namespace ondeloc
