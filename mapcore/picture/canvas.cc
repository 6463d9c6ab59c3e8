// SPDX-License-Identifier: Apache-2.0
#include "mapcore/picture/canvas.h"

#include <cairo-svg.h>
#include <cairo.h>
#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <numbers>
#include <vector>

#include "mapcore/base/new_file.h"
#include "mapcore/base/printable.h"

namespace ondeloc {

struct Canvas::Surface {
  std::string path;
  bool png = false;
  std::string octets;  // of the finished picture
  cairo_surface_t* surface = nullptr;
  cairo_t* cairo = nullptr;
  Surface() = default;
  Surface(const Surface&) = delete;
  Surface& operator=(const Surface&) = delete;
  ~Surface() {
    cairo_destroy(cairo);
    cairo_surface_destroy(surface);
  }
};

namespace {

Error cannot_write(const std::string& path, cairo_status_t status) {
  return Error(
      fmt::format("picture '{}' cannot be written: {}", path, cairo_status_to_string(status)));
}

cairo_status_t append(void* octets, const unsigned char* piece, unsigned length) {
  static_cast<std::string*>(octets)->append(reinterpret_cast<const char*>(piece), length);
  return CAIRO_STATUS_SUCCESS;
}

void set_colour(cairo_t* cairo, Colour colour) {
  cairo_set_source_rgb(cairo, (colour >> 16 & 255) / 255.0, (colour >> 8 & 255) / 255.0,
                       (colour & 255) / 255.0);
}

}  // namespace

Result<Canvas> Canvas::create(const std::string& path, double width, double height) {
  auto made = std::make_unique<Surface>();
  made->path = path;
  made->png = path.ends_with(".png");
  if (!made->png && !path.ends_with(".svg") && path != "-")
    return Error(fmt::format("picture '{}' has to end in .svg or .png", path));
  made->surface = made->png
                      ? cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(width),
                                                   static_cast<int>(height))
                      : cairo_svg_surface_create_for_stream(append, &made->octets, width, height);
  made->cairo = cairo_create(made->surface);
  if (const auto status = cairo_status(made->cairo); status != CAIRO_STATUS_SUCCESS)
    return cannot_write(path, status);
  cairo_select_font_face(made->cairo, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                         CAIRO_FONT_WEIGHT_NORMAL);
  Canvas canvas(std::move(made));
  canvas.fill({0, 0, width, height}, kPaper);
  return canvas;
}

Canvas::Canvas(std::unique_ptr<Surface> surface) : surface_(std::move(surface)) {}
Canvas::Canvas(Canvas&&) noexcept = default;
Canvas& Canvas::operator=(Canvas&&) noexcept = default;
Canvas::~Canvas() = default;

void Canvas::fill(const Box& box, Colour colour) {
  set_colour(surface_->cairo, colour);
  cairo_rectangle(surface_->cairo, box.x, box.y, box.width, box.height);
  cairo_fill(surface_->cairo);
}

void Canvas::frame(const Box& box, Colour colour, double width) {
  set_colour(surface_->cairo, colour);
  cairo_set_line_width(surface_->cairo, width);
  cairo_rectangle(surface_->cairo, box.x, box.y, box.width, box.height);
  cairo_stroke(surface_->cairo);
}

void Canvas::line(double x0, double y0, double x1, double y1, Colour colour, double width) {
  set_colour(surface_->cairo, colour);
  cairo_set_line_width(surface_->cairo, width);
  cairo_move_to(surface_->cairo, x0, y0);
  cairo_line_to(surface_->cairo, x1, y1);
  cairo_stroke(surface_->cairo);
}

void Canvas::text(double x, double y, const std::string& words, double size, Align align,
                  Colour colour, bool turn) {
  const std::string shown = printable(words);  // Cairo fails for a byte that is not UTF-8
  cairo_t* cairo = surface_->cairo;
  cairo_save(cairo);
  set_colour(cairo, colour);
  cairo_set_font_size(cairo, size);
  cairo_translate(cairo, x, y);
  if (turn) cairo_rotate(cairo, -std::numbers::pi / 2);
  cairo_text_extents_t extents;
  cairo_text_extents(cairo, shown.c_str(), &extents);
  const double share = align == Align::kLeft ? 0 : align == Align::kCentre ? 0.5 : 1;
  cairo_move_to(cairo, -share * extents.x_advance, 0);
  cairo_show_text(cairo, shown.c_str());
  cairo_restore(cairo);
}

void Canvas::cells(const Box& box, int columns, int rows, std::span<const Colour> colours) {
  cairo_t* cairo = surface_->cairo;
  cairo_surface_t* image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, columns, rows);
  if (cairo_surface_status(image) == CAIRO_STATUS_SUCCESS) {
    const int stride = cairo_image_surface_get_stride(image);
    for (int r = 0; r < rows; ++r) {
      auto* out = reinterpret_cast<std::uint32_t*>(cairo_image_surface_get_data(image) +
                                                   static_cast<std::ptrdiff_t>(r) * stride);
      for (int c = 0; c < columns; ++c)
        out[c] = colours[static_cast<std::size_t>(r) * static_cast<std::size_t>(columns) +
                         static_cast<std::size_t>(c)];
    }
    cairo_surface_mark_dirty(image);
    cairo_save(cairo);
    cairo_translate(cairo, box.x, box.y);
    cairo_scale(cairo, box.width / columns, box.height / rows);
    cairo_set_source_surface(cairo, image, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cairo), CAIRO_FILTER_NEAREST);
    cairo_paint(cairo);
    cairo_restore(cairo);
  }
  cairo_surface_destroy(image);
}

Status Canvas::finish() {
  cairo_status_t status = cairo_status(surface_->cairo);
  if (status == CAIRO_STATUS_SUCCESS && surface_->png) {
    status = cairo_surface_write_to_png_stream(surface_->surface, append, &surface_->octets);
  } else if (status == CAIRO_STATUS_SUCCESS) {
    cairo_surface_finish(surface_->surface);
    status = cairo_surface_status(surface_->surface);
  }
  if (status != CAIRO_STATUS_SUCCESS) return cannot_write(surface_->path, status);
  return write_new_file(surface_->path, surface_->octets);
}

double nice_step(double range, int most) {
  const double rough = range / most, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return 10 * power;
}

}  // namespace ondeloc
