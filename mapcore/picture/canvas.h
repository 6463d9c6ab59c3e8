// SPDX-License-Identifier: Apache-2.0
// A drawing that ends as SVG or PNG, by the file's extension, or as SVG on standard output ("-").
// This file alone uses cairo. Units: pixels (PNG) or points (SVG), origin top left. Colours:
// 0xRRGGBB. Errors: create() and finish(), one sentence. Ownership: owns the surface. Thread
// safety: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "mapcore/base/result.h"

namespace ondeloc {

using Colour = std::uint32_t;
inline constexpr Colour kInk = 0x202020;
inline constexpr Colour kPaper = 0xFFFFFF;

enum class Align { kLeft, kCentre, kRight };

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

class Canvas {
 public:
  // Error: the name is neither "-" nor ends in .svg or .png. finish() writes the whole file;
  // nothing is written before.
  static Result<Canvas> create(const std::string& path, double width, double height);
  Canvas(Canvas&&) noexcept;
  Canvas& operator=(Canvas&&) noexcept;
  ~Canvas();

  void fill(const Box& box, Colour colour);
  void frame(const Box& box, Colour colour, double width = 1);
  void line(double x0, double y0, double x1, double y1, Colour colour, double width = 1);
  // `y` is the base line. `turn`: rotated by a quarter to the left around (x, y).
  void text(double x, double y, const std::string& words, double size, Align align = Align::kLeft,
            Colour colour = kInk, bool turn = false);
  // Row-major columns x rows colours, each a sharp rectangle of the box.
  void cells(const Box& box, int columns, int rows, std::span<const Colour> colours);
  Status finish();

 private:
  struct Surface;
  explicit Canvas(std::unique_ptr<Surface> surface);
  std::unique_ptr<Surface> surface_;
};

// Returns 1, 2 or 5 times a power of ten, so that at most `most` steps fit into the range.
double nice_step(double range, int most);

}  // namespace ondeloc
