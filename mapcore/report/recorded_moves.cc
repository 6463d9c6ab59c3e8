// SPDX-License-Identifier: Apache-2.0
#include "mapcore/report/recorded_moves.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <utility>

#include "mapcore/base/ids.h"
#include "mapcore/base/read_file.h"
#include "mapcore/base/text.h"
#include "mapcore/report/report_version.h"

namespace ondeloc {
namespace {

using MovesJson = nlohmann::json;

constexpr std::size_t kMostReportBytes = std::size_t{256} << 20;

const MovesJson& array_of(const MovesJson& object, const char* key) {
  static const MovesJson kEmpty = MovesJson::array();
  if (!object.is_object()) return kEmpty;
  const auto at = object.find(key);
  return at != object.end() && at->is_array() ? *at : kEmpty;
}

Result<RecordedMove> move_of(const MovesJson& rank, const MovesJson& cpus) {
  if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() > kMaxWorldRank)
    return Error("\"moved\" has something that is not a rank");
  if (!cpus.is_string()) return Error("\"moved_to\" has something that is not a list of CPUs");
  auto set = CpuSet::parse_list(cpus.get_ref<const std::string&>());
  if (!set) return std::move(set).error().within("\"moved_to\"");
  if (set->empty()) return Error("\"moved_to\" has an empty list of CPUs");
  return RecordedMove{rank.get<int>(), *std::move(set)};
}

Result<RecordedTurn> turn_of(const MovesJson& interval) {
  RecordedTurn turn;
  const MovesJson &moved = array_of(interval, "moved"), &to = array_of(interval, "moved_to");
  if (moved.size() != to.size())
    return Error("\"moved\" and \"moved_to\" have not the same length");
  for (std::size_t i = 0; i < moved.size(); ++i) {
    auto move = move_of(moved[i], to[i]);
    if (!move) return std::move(move).error();
    turn.moves.push_back(*std::move(move));
  }
  if (turn.moves.empty()) return turn;
  const auto t = interval.find("t");
  if (t == interval.end() || !t->is_number())
    return Error("an interval with moves has no time \"t\"");
  turn.seconds = t->get<double>();
  if (!(turn.seconds >= 0) || !std::isfinite(turn.seconds))
    return Error("a time \"t\" is negative");
  return turn;
}

}  // namespace

Result<std::vector<RecordedTurn>> parse_recorded_moves(std::string_view text) {
  const MovesJson report = MovesJson::parse(text, nullptr, false);
  if (report.is_discarded()) return Error("this is not JSON; use the report of a step");
  if (Status good = check_report_json(report, "this"); !good) return std::move(good).error();
  if (!report.is_object() || !report.contains("intervals") || !report["intervals"].is_array())
    return Error("this is not the report of a step: it has no \"intervals\"");
  std::vector<RecordedTurn> turns;
  for (const MovesJson& interval : report["intervals"]) {
    auto turn = turn_of(interval);
    if (!turn)
      return std::move(turn).error().within(
          fmt::format("interval {}", &interval - &report["intervals"][0]));
    if (turn->moves.empty()) continue;
    if (!turns.empty() && turn->seconds < turns.back().seconds)
      return Error(fmt::format("interval {}: its time is before that of an earlier interval",
                               &interval - &report["intervals"][0]));
    turns.push_back(*std::move(turn));
  }
  return turns;
}

Result<std::vector<RecordedTurn>> read_recorded_moves(const std::string& path) {
  auto text = read_file(path, kMostReportBytes, ReadFrom::kFile);
  if (!text) return std::move(text).error();
  auto turns = parse_recorded_moves(*text);
  if (!turns) return std::move(turns).error().within(shorten(path));
  return turns;
}

}  // namespace ondeloc
