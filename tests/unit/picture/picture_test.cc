// SPDX-License-Identifier: Apache-2.0
// Reads pictures back from the PNG: darker cells have more bytes, and lines separate the NUMA
// nodes.
#include <cairo.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "mapcore/picture/heat_map.h"
#include "mapcore/picture/timeline.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

constexpr int kLeft = 90, kTop = 70;  // of the plot

class Picture {
 public:
  explicit Picture(const std::string& path)
      : image_(cairo_image_surface_create_from_png(path.c_str())) {
    std::filesystem::remove(path);
  }
  Picture(const Picture&) = delete;
  Picture& operator=(const Picture&) = delete;
  ~Picture() { cairo_surface_destroy(image_); }
  bool good() const { return cairo_surface_status(image_) == CAIRO_STATUS_SUCCESS; }
  std::uint32_t at(int x, int y) const {
    const unsigned char* row =
        cairo_image_surface_get_data(image_) + y * cairo_image_surface_get_stride(image_);
    return reinterpret_cast<const std::uint32_t*>(row)[x] & 0xFFFFFF;
  }
  // 0 black to 765 white.
  int light(int x, int y) const {
    const std::uint32_t colour = at(x, y);
    return static_cast<int>((colour >> 16) + (colour >> 8 & 255) + (colour & 255));
  }

 private:
  cairo_surface_t* image_;
};

std::string temporary(const char* ending) {
  return (std::filesystem::temp_directory_path() / fmt::format("ondeloc-{}{}", getpid(), ending))
      .string();
}

Picture heat_map(const CommMatrix& matrix, const HeatMapStyle& style) {
  const std::string path = temporary(".png");
  REQUIRE(draw_heat_map(matrix, style, path).ok());
  return Picture(path);
}

// Rank r sends 2^(k + 10) bytes to rank r + k, k = 1 .. 8.
CommMatrix band(int ranks) {
  CommMatrix matrix{ranks, {}};
  for (int r = 0; r < ranks; ++r) {
    for (int k = 1; k <= 8 && r + k < ranks; ++k)
      matrix.entries.push_back({r, r + k, static_cast<double>(1 << (k + 10)), 1});
  }
  return matrix;
}

template <class Draw>
std::string drawn(Draw draw) {
  const std::string path = temporary(".svg");
  REQUIRE(draw(path).ok());
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  std::filesystem::remove(path);
  return text;
}

std::size_t count(const std::string& text, const std::string& piece) {
  std::size_t found = 0;
  for (std::size_t at = text.find(piece); at != text.npos; at = text.find(piece, at + 1)) ++found;
  return found;
}

}  // namespace

TEST_CASE("darker is more and white is nothing, at 32 and at 512 ranks") {
  for (const int ranks : {32, 512}) {
    const int cell = 1024 / ranks;
    const Picture seen = heat_map(band(ranks), {"", true, {}});
    REQUIRE(seen.good());
    auto light = [&](int src, int dst) {
      return seen.light(kLeft + dst * cell + cell / 2, kTop + src * cell + cell / 2);
    };
    for (int k = 1; k < 8; ++k) CHECK(light(3, 3 + k) > light(3, 4 + k));
    CHECK(light(3, 3) == 765);
    CHECK(light(20, 3) == 765);
    CHECK(light(3, 4) < 765);
  }
}

TEST_CASE("ranks of a node stand together between boundaries") {
  HeatMapStyle style{"", true, {}};
  for (int r = 0; r < 32; ++r) style.node_of_rank.push_back(r % 2);
  const Picture seen = heat_map(band(32), style);
  CHECK(seen.light(kLeft + 512, kTop + 200) < 500);
  CHECK(seen.at(kLeft + 512, kTop + 200) >> 16 > (seen.at(kLeft + 512, kTop + 200) & 255));  // red
  // Rank 0 sends to rank 2, its neighbour on the node, and to rank 1, the first of the other node.
  CHECK(seen.light(kLeft + 48, kTop + 16) < 765);
  CHECK(seen.light(kLeft + 16 * 32 + 16, kTop + 16) < 765);
  CHECK(seen.light(kLeft + 10 * 32 + 16, kTop + 16) == 765);
}

TEST_CASE("bytes to other nodes have a column of their own, on the scale of all") {
  const CommMatrix matrix{4, {{0, 1, 1000, 1}}};
  const int right = kLeft + 4 * 60, column = right + 22 + 12;  // cells of 60, the gap, the middle
  HeatMapStyle style{"", true, {}};
  style.off_node = {0, 0, 150e6, 0};
  const Picture seen = heat_map(matrix, style);
  CHECK(seen.light(column, kTop + 2 * 60 + 30) < seen.light(kLeft + 60 + 30, kTop + 30));
  CHECK(seen.light(column, kTop + 30) == 765);
  const auto letters = [&] {
    return count(drawn([&](const std::string& path) { return draw_heat_map(matrix, style, path); }),
                 "href=\"#glyph");
  };
  const std::size_t with = letters();
  style.off_node = {0, 0, 0, 0};
  CHECK(letters() < with);
}

TEST_CASE("nearly equal values look nearly equal") {
  const CommMatrix even{4, {{0, 1, 1000, 1}, {1, 2, 1001, 1}, {2, 3, 999, 1}}};
  const Picture seen = heat_map(even, {"", true, {}});
  const int most = seen.light(kLeft + 2 * 60 + 30, kTop + 60 + 30);
  CHECK(std::abs(most - seen.light(kLeft + 60 + 30, kTop + 30)) < 8);
  CHECK(most < 200);
}

TEST_CASE("every letter of title, axes, legend and node labels is in the SVG; labels never touch") {
  HeatMapStyle style{"T", true, {}};
  const auto letters = [&](int ranks) {
    return count(
        drawn([&](const std::string& path) { return draw_heat_map(band(ranks), style, path); }),
        "href=\"#glyph");
  };
  const std::size_t plain = letters(32);
  // 16 labels on each of two axes: 0 2 ... 30. Title, subtitle, legend with five values.
  CHECK(plain >= 2 * (5 + 2 * 11) + std::string("T32ranksbytessentnothing").size() + 5 * 4);
  for (int r = 0; r < 32; ++r) style.node_of_rank.push_back(r / 8);
  CHECK(letters(32) == plain + std::string("NUMA0123").size());
  for (int r = 0; r < 8; ++r) style.node_of_rank[static_cast<std::size_t>(r)] = kOtherNodes;
  CHECK(letters(32) == plain + std::string("NUMA123other nodes").size());
  style.node_of_rank.clear();
  const std::size_t wide = letters(512);
  for (int r = 0; r < 512; ++r) style.node_of_rank.push_back(r);
  const std::size_t added = letters(512) - wide;
  CHECK(added > 4 + 3 * 20);
  CHECK(added < 4 + 3 * 1024 / 25);  // a label of three digits takes 25 points and more
}

TEST_CASE("the timeline has a bar and a line in the list for each cluster, in its colour") {
  TimeBins bins({0, 1000}, 10);
  for (const std::uint64_t t : {50, 150, 850}) bins.add({t, 0, 1, 10});
  const Clusters two{bins,
                     {0, 0, -1, -1, -1, -1, -1, -1, 1, -1},
                     {{{0, 200}, 2, 20, 2, {}}, {{800, 900}, 1, 10, 2, {}}},
                     0};
  const std::string svg =
      drawn([&](const std::string& path) { return draw_timeline(two, 0, "", path); });
  CHECK(count(svg, "fill=\"rgb(12.156863%,46.666667%,70.588235%)\"") +
            count(svg, "fill:rgb(12.156863%,46.666667%,70.588235%)") +
            count(svg, "fill=\"rgb(12.156863%, 46.666667%, 70.588235%)\"") >=
        3);
  CHECK(count(svg, "100%,49.803922%,5.490196%") + count(svg, "100%, 49.803922%, 5.490196%") >= 2);
  CHECK(count(svg, "17.254902%,62.745098%,17.254902%") +
            count(svg, "17.254902%, 62.745098%, 17.254902%") ==
        0);
  CHECK(count(svg, "href=\"#glyph") >
        std::string("secondssincethefirstmessagemessagesperbin2clustersin10binsof").size() +
            2 * std::string("1:0to2e-07s,2messages,20B,2ranks").size());
}

TEST_CASE("the timeline of a window counts from the first message of the run") {
  constexpr std::uint64_t kFrom = 10'000'000'000, kTo = 11'000'000'000;
  TimeBins bins({kFrom, kTo}, 1);
  bins.add({kFrom, 0, 1, 10});
  const Clusters one{bins, {0}, {{{kFrom, kTo}, 1, 10, 2, {}}}, 0};
  const auto letters = [&](std::uint64_t zero_ns) {
    return count(
        drawn([&](const std::string& path) { return draw_timeline(one, zero_ns, "", path); }),
        "href=\"#glyph");
  };
  // The ticks 0 0.2 ... 1 become 10 10.2 ... 11, and "0 s to 1 s" becomes "10 s to 11 s".
  CHECK(letters(0) == letters(kFrom) + 6 + 2);
}

TEST_CASE("clusters with alike matrices share a colour in the timeline, and the list says so") {
  TimeBins bins({0, 1000}, 10);
  for (const std::uint64_t t : {50, 450, 850}) bins.add({t, 0, 1, 10});
  const CommMatrix pair{4, {{0, 1, 10, 1}}}, other{4, {{2, 3, 10, 1}}};
  const auto picture = [&](const CommMatrix& last) {
    const Clusters three{
        bins,
        {0, -1, -1, -1, 1, -1, -1, -1, 2, -1},
        {{{0, 100}, 1, 10, 2, pair}, {{400, 500}, 1, 10, 2, other}, {{800, 900}, 1, 10, 2, last}},
        0};
    return drawn([&](const std::string& path) { return draw_timeline(three, 0, "", path); });
  };
  const auto green = [](const std::string& svg) {  // of a third pattern
    return count(svg, "17.254902%,62.745098%,17.254902%") +
           count(svg, "17.254902%, 62.745098%, 17.254902%");
  };
  const CommMatrix third{4, {{1, 2, 10, 1}}};
  CHECK(green(picture(pair)) == 0);
  CHECK(green(picture(third)) > 0);
  CHECK(count(picture(pair), "href=\"#glyph") > count(picture(third), "href=\"#glyph"));
}

TEST_CASE("ticks of the legend are powers of ten, and the palest colour differs from the paper") {
  const CommMatrix wide{4, {{0, 1, 2e3, 1}, {1, 2, 7e8, 1}}};
  const Picture seen = heat_map(wide, {"", true, {}});
  CHECK(seen.light(kLeft + 60 + 30, kTop + 30) < 765 - 60);
  const auto letters = [](const CommMatrix& matrix) {
    return count(drawn([&](const std::string& path) {
                   return draw_heat_map(matrix, {"", true, {}}, path);
                 }),
                 "href=\"#glyph");
  };
  // 10 kB, 100 kB, 1 MB, 10 MB and 100 MB, and a subtitle of the same length in both.
  const CommMatrix narrow{
      4, {{0, 1, 2e8, 1}, {1, 2, 5e8, 1}}};  // 50 MB ... : 100 MB only, so both ends
  CHECK(letters(wide) > letters(narrow));
}

TEST_CASE("thin lines separate the caches of a node") {
  HeatMapStyle style{"", true, {}};
  for (int r = 0; r < 32; ++r) {
    style.node_of_rank.push_back(r / 16);
    style.cache_of_rank.push_back(r / 8);
  }
  const Picture with = heat_map(band(32), style);
  style.cache_of_rank.clear();
  const Picture without = heat_map(band(32), style);
  CHECK(with.light(kLeft + 8 * 32, kTop + 900) < without.light(kLeft + 8 * 32, kTop + 900));
  CHECK(with.at(kLeft + 16 * 32, kTop + 900) == without.at(kLeft + 16 * 32, kTop + 900));
}

TEST_CASE("other endings than .svg and .png are refused with a sentence") {
  const Status drawn = draw_heat_map(band(4), {"", true, {}}, temporary(".jpg"));
  REQUIRE(!drawn.ok());
  CHECK(drawn.error().message().find(".svg or .png") != std::string::npos);
}

TEST_CASE("a title that is not UTF-8 is drawn with its bytes replaced") {
  const std::string path = temporary(".svg"), title = "caf\xe9.prof";
  HeatMapStyle style;
  style.title = title;
  CHECK(draw_heat_map(band(4), style, path).ok());
  TimeBins bins({0, 1000}, 1);
  bins.add({50, 0, 1, 10});
  CHECK(draw_timeline({bins, {0}, {{{0, 1000}, 1, 10, 2, {}}}, 0}, 0, title, path).ok());
  std::filesystem::remove(path);
}
