// SPDX-License-Identifier: Apache-2.0
#include "mapcore/picture/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/comm/pattern.h"
#include "mapcore/picture/canvas.h"

namespace ondeloc {
namespace {

constexpr double kLeft = 100, kTop = 80, kWidth = 1000, kHeight = 380, kBottom = 70, kRight = 110;
constexpr std::array<Colour, 10> kColours = {0x1F77B4, 0xFF7F0E, 0x2CA02C, 0xD62728, 0x9467BD,
                                             0x8C564B, 0xE377C2, 0x7F7F7F, 0xBCBD22, 0x17BECF};
constexpr Colour kGrid = 0xDDDDDD, kBytes = 0x303030;
constexpr std::size_t kMostRows = 16;  // of the list of clusters

// Clusters whose matrices are this alike (cosine) show one pattern that comes back.
constexpr double kAlike = 0.95;

// The clusters by pattern: like[c] is the first cluster whose pattern cluster c has.
std::vector<std::size_t> patterns_of(const Clusters& clusters) {
  std::vector<std::size_t> like;
  std::vector<Pattern> patterns;
  for (const Cluster& cluster : clusters.clusters) {
    const Traffic traffic(cluster.matrix);
    std::size_t first = 0;
    while (first < patterns.size() && (like[first] != first || cluster.matrix.entries.empty() ||
                                       patterns[first].cosine(traffic) < kAlike))
      ++first;
    like.push_back(first);
    patterns.emplace_back(traffic);
  }
  return like;
}

// A colour for each pattern. Neighbours with different patterns never share a colour.
class Palette {
 public:
  explicit Palette(const Clusters& clusters) : like_(patterns_of(clusters)) {
    std::size_t next = 0;
    for (std::size_t c = 0; c < like_.size(); ++c) {
      if (like_[c] != c) {
        colours_.push_back(colours_[like_[c]]);
        continue;
      }
      if (c > 0 && kColours[next % kColours.size()] == colours_[c - 1]) ++next;
      colours_.push_back(kColours[next++ % kColours.size()]);
    }
  }
  Colour of(std::size_t cluster) const { return colours_[cluster]; }
  std::size_t like(std::size_t cluster) const { return like_[cluster]; }

 private:
  std::vector<std::size_t> like_;
  std::vector<Colour> colours_;
};

struct Plot {
  Box box;
  double begin, seconds, messages, bytes;  // of the whole axes, which begin at `begin` and at 0
  double x(double s) const { return box.x + box.width * (s - begin) / seconds; }
  double y(double m) const { return box.y + box.height * (1 - m / messages); }
  double y_of_bytes(double b) const { return box.y + box.height * (1 - b / bytes); }
};

void draw_axes(Canvas& canvas, const Plot& plot) {
  const double dx = nice_step(plot.seconds, 8), dy = std::max(1.0, nice_step(plot.messages, 8));
  for (int i = 0; i * dy <= plot.messages; ++i) {
    const double m = i * dy;
    canvas.line(plot.box.x, plot.y(m), plot.box.x + plot.box.width, plot.y(m), kGrid);
    canvas.text(plot.box.x - 8, plot.y(m) + 4.5, fmt::format("{:.0f}", m), 13, Align::kRight);
  }
  const double base = plot.box.y + plot.box.height;
  const double first = std::ceil(plot.begin / dx * (1 - 1e-9));
  for (int i = 0; (first + i) * dx <= plot.begin + plot.seconds * (1 + 1e-9); ++i) {
    const double s = (first + i) * dx;
    canvas.line(plot.x(s), base, plot.x(s), base + 5, kInk);
    canvas.text(plot.x(s), base + 20, fmt::format("{:.9g}", s), 13, Align::kCentre);
  }
  canvas.text(plot.box.x + plot.box.width / 2, base + 46, "seconds since the first message", 15,
              Align::kCentre);
  canvas.text(plot.box.x - 68, plot.box.y + plot.box.height / 2, "messages per bin", 15,
              Align::kCentre, kInk, true);
}

// The bytes of each bin as a line of steps, with an axis on the right.
void draw_bytes(Canvas& canvas, const Plot& plot, const Clusters& clusters) {
  const std::vector<double>& bytes = clusters.bins.bytes();
  const double right = plot.box.x + plot.box.width;
  const double width = plot.box.width / static_cast<double>(bytes.size());
  const double step = nice_step(plot.bytes, 8);
  for (int i = 0; i * step <= plot.bytes; ++i) {
    const double y = plot.y_of_bytes(i * step);
    canvas.line(right, y, right + 5, y, kBytes);
    canvas.text(right + 9, y + 4.5, bytes_text(i * step), 13, Align::kLeft, kBytes);
  }
  canvas.line(right, plot.box.y, right, plot.box.y + plot.box.height, kBytes);
  for (std::size_t b = 0; b < bytes.size(); ++b) {
    const double x = plot.box.x + static_cast<double>(b) * width, y = plot.y_of_bytes(bytes[b]);
    canvas.line(x, y, x + width, y, kBytes, 1.5);
    if (b > 0) canvas.line(x, plot.y_of_bytes(bytes[b - 1]), x, y, kBytes, 1.5);
  }
  canvas.text(right + 88, plot.box.y + plot.box.height / 2, "bytes per bin (line)", 15,
              Align::kCentre, kBytes, true);
}

void draw_bars(Canvas& canvas, const Plot& plot, const Clusters& clusters, const Palette& palette) {
  const std::size_t bins = clusters.bins.count();
  const double width = plot.box.width / static_cast<double>(bins);
  for (std::size_t b = 0; b < bins; ++b) {
    const auto messages = static_cast<double>(clusters.bins.messages()[b]);
    if (clusters.cluster_of_bin[b] < 0 || messages == 0) continue;
    // A bar of one message stays visible beside a bar of a thousand.
    const double top = std::min(plot.y(messages), plot.box.y + plot.box.height - 1.5);
    canvas.fill({plot.box.x + static_cast<double>(b) * width, top, std::max(width * 0.92, 0.5),
                 plot.box.y + plot.box.height - top},
                palette.of(static_cast<std::size_t>(clusters.cluster_of_bin[b])));
  }
  const double base = plot.box.y + plot.box.height;
  canvas.line(plot.box.x, base, plot.box.x + plot.box.width, base, kInk);
  canvas.line(plot.box.x, plot.box.y, plot.box.x, base, kInk);
}

double seconds_since(std::uint64_t zero_ns, std::uint64_t time_ns) {
  return static_cast<double>(time_ns - zero_ns) * 1e-9;
}

void draw_numbers(Canvas& canvas, const Plot& plot, const Clusters& clusters, std::uint64_t zero_ns,
                  const Palette& palette) {
  double free_from = 0;
  for (std::size_t c = 0; c < clusters.clusters.size(); ++c) {
    const TimeWindow& time = clusters.clusters[c].time;
    const double middle =
        (seconds_since(zero_ns, time.from_ns) + seconds_since(zero_ns, time.to_ns)) / 2;
    if (plot.x(middle) < free_from) continue;
    free_from = plot.x(middle) + 20;
    canvas.text(plot.x(middle), plot.box.y - 6, fmt::format("{}", c + 1), 12, Align::kCentre,
                palette.of(c));
  }
}

void draw_list(Canvas& canvas, double y, const Clusters& clusters, std::uint64_t zero_ns,
               const Palette& palette) {
  const std::size_t shown = std::min(kMostRows, clusters.clusters.size());
  for (std::size_t c = 0; c < shown; ++c) {
    const Cluster& cluster = clusters.clusters[c];
    const double x = kLeft + static_cast<double>(c % 2) * 510;
    const std::size_t line = c / 2;
    const double row = y + 20 * static_cast<double>(line);
    canvas.fill({x, row - 11, 12, 12}, palette.of(c));
    canvas.text(
        x + 20, row,
        fmt::format("{}: {} to {}, {} messages, {}, {} ranks{}", c + 1,
                    seconds_text(seconds_since(zero_ns, cluster.time.from_ns)),
                    seconds_text(seconds_since(zero_ns, cluster.time.to_ns)), cluster.messages,
                    bytes_text(cluster.bytes), cluster.tasks,
                    palette.like(c) == c ? "" : fmt::format(", as {}", palette.like(c) + 1)),
        13);
  }
  const std::size_t lines = (shown + 1) / 2;
  if (shown < clusters.clusters.size())
    canvas.text(kLeft, y + 20 * static_cast<double>(lines),
                fmt::format("and {} more", clusters.clusters.size() - shown), 13);
}

}  // namespace

Status draw_timeline(const Clusters& clusters, std::uint64_t zero_ns, const std::string& title,
                     const std::string& path) {
  const std::size_t rows = (std::min(kMostRows, clusters.clusters.size()) + 1) / 2 + 2;
  const double height = kTop + kHeight + kBottom + 20 * static_cast<double>(rows);
  auto canvas = Canvas::create(path, kLeft + kWidth + kRight, height);
  if (!canvas) return std::move(canvas).error();
  const auto& messages = clusters.bins.messages();
  const auto& bytes = clusters.bins.bytes();
  const Palette palette(clusters);
  const TimeWindow span = clusters.bins.span();
  const Plot plot{{kLeft, kTop, kWidth, kHeight},
                  seconds_since(zero_ns, span.from_ns),
                  seconds_since(span.from_ns, span.to_ns),
                  static_cast<double>(*std::max_element(messages.begin(), messages.end())) * 1.05,
                  std::max(1.0, *std::max_element(bytes.begin(), bytes.end()) * 1.05)};
  draw_axes(*canvas, plot);
  draw_bars(*canvas, plot, clusters, palette);
  draw_bytes(*canvas, plot, clusters);
  draw_numbers(*canvas, plot, clusters, zero_ns, palette);
  draw_list(*canvas, kTop + kHeight + kBottom + 16, clusters, zero_ns, palette);
  canvas->text(kLeft, 28, title, 17);
  canvas->text(kLeft, 48,
               fmt::format("{} in {} bins of {}", counted(clusters.clusters.size(), "cluster"),
                           clusters.bins.count(), seconds_text(clusters.bins.width_ns() * 1e-9)),
               13);
  return canvas->finish();
}

}  // namespace ondeloc
