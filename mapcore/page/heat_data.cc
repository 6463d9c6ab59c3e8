// SPDX-License-Identifier: Apache-2.0
#include "mapcore/page/heat_data.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/log_scale.h"
#include "mapcore/base/quantity.h"

namespace ondeloc {
namespace {

constexpr std::size_t kMostExact = 64;  // ranks whose bytes the page holds in all digits

std::string base64(const std::vector<std::uint8_t>& octets) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < octets.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k)
      group = group << 8 | (i + k < octets.size() ? octets[i + k] : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      out += i + k <= octets.size() ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::vector<double> bytes_of_pairs(const ReportRun& run) {
  std::map<int, std::size_t> place;
  for (std::size_t i = 0; i < run.ranks.size(); ++i) place.emplace(run.ranks[i].rank, i);
  std::vector<double> bytes(run.ranks.size() * run.ranks.size());
  for (const ReportedCell& cell : run.matrix) {
    const auto from = place.find(cell.src), to = place.find(cell.dst);
    if (from != place.end() && to != place.end() && cell.bytes > 0)
      bytes[from->second * run.ranks.size() + to->second] += cell.bytes;
  }
  return bytes;
}

// 1 is kept for the floor of the scale and all below it, because the page cannot tell them apart.
std::uint8_t shade_of(double share) {
  return static_cast<std::uint8_t>(share > 0 ? std::max(2L, 1 + std::lround(254 * share)) : 1);
}

}  // namespace

nlohmann::ordered_json heat_data(const ReportRun& run) {
  const std::vector<double> bytes = bytes_of_pairs(run);
  const LogScale scale = log_scale(bytes);
  std::vector<std::uint8_t> shades;
  for (const double value : bytes) shades.push_back(value > 0 ? shade_of(scale.share(value)) : 0);
  nlohmann::ordered_json out = {{"n", run.ranks.size()},
                                {"low", scale.low},
                                {"high", scale.high},
                                {"cells", base64(shades)},
                                {"ticks", nlohmann::json::array()}};
  for (const double tick : scale.ticks())
    out["ticks"].push_back({scale.share(tick), bytes_text(tick)});
  if (run.ranks.size() <= kMostExact) out["exact"] = bytes;
  return out;
}

}  // namespace ondeloc
