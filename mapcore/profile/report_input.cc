// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/report_input.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

#include "mapcore/base/ids.h"
#include "mapcore/base/printable.h"
#include "mapcore/base/text.h"
#include "mapcore/profile/report_json_input.h"
#include "mapcore/report/report_version.h"

namespace ondeloc {
namespace {

using Json = nlohmann::ordered_json;

const Json* find(const Json& object, const char* key) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  return at == object.end() ? nullptr : &*at;
}

std::optional<double> number(const Json& object, const char* key) {
  const Json* value = find(object, key);
  if (value == nullptr || !value->is_number()) return std::nullopt;
  const double found = value->get<double>();
  if (!(found >= 0) || found > 1e300) return std::nullopt;
  return found;
}

// Returns 0 if the value is not a whole number that fits.
std::uint64_t whole_number(const Json& object, const char* key) {
  const Json* value = find(object, key);
  return value != nullptr && value->is_number_unsigned() ? value->get<std::uint64_t>() : 0;
}

std::optional<int> rank_at(const Json& object, const char* key) {
  const Json* value = find(object, key);
  if (value == nullptr || !value->is_number_integer()) return std::nullopt;
  const auto rank = value->get<std::int64_t>();
  if (rank < 0 || rank > kMaxWorldRank) return std::nullopt;
  return static_cast<int>(rank);
}

// nullopt: one of the cells is not valid.
std::optional<std::vector<MatrixEntry>> read_matrix_cells(const Json& cells) {
  std::vector<MatrixEntry> entries;
  for (const Json& cell : cells) {
    const auto src = rank_at(cell, "src"), dst = rank_at(cell, "dst");
    const auto bytes = number(cell, "bytes"), messages = number(cell, "messages");
    if (!src || !dst || !bytes || !messages) return std::nullopt;
    entries.push_back({*src, *dst, *bytes, *messages});
  }
  return entries;
}

// Rankfiles contain the node as one word.
std::string read_node(const Json& report) {
  const Json* node = find(report, "node");
  if (node == nullptr || !node->is_string()) return "";
  std::string text = printable(node->get<std::string>());
  std::replace(text.begin(), text.end(), ' ', '?');
  return text;
}

void read_notes(const Json& report, ReportInput& input) {
  const Json* notes = find(report, "notes");
  if (notes == nullptr || !notes->is_array()) return;
  for (const Json& note : *notes) {
    if (!note.is_string()) continue;
    input.notes.push_back(printable(note.get<std::string>()));
  }
}

// All or nothing: a share of some ranks would mislead.
void read_cpus(const Json& ranks, ReportInput& input) {
  for (const Json& rank : ranks) {
    const auto index = rank_at(rank, "rank");
    const Json* list = find(rank, "initial_cpus");
    auto cpus = list != nullptr && list->is_string()
                    ? CpuSet::parse_list(list->get_ref<const std::string&>())
                    : Result<CpuSet>(Error("no list"));
    if (!index || !cpus) {
      input.cpus.clear();
      return;
    }
    input.cpus.push_back({static_cast<std::uint32_t>(*index), *std::move(cpus)});
  }
}

// The report has the number as text; a job that was not requeued has none.
std::uint64_t read_restarts(const Json& report) {
  const Json* origin = find(report, "origin");
  const Json* restarts = origin == nullptr ? nullptr : find(*origin, "restarts");
  if (restarts == nullptr || !restarts->is_string()) return 0;
  return parse_unsigned(restarts->get_ref<const std::string&>(), UINT32_MAX).value_or(0);
}

void read_extras(const Json& report, ReportInput& input) {
  input.node = read_node(report);
  input.nodes = {input.node};
  input.job = whole_number(report, "job");
  input.restarts = read_restarts(report);
  input.step = whole_number(report, "step");
  if (const Json* off = find(report, "off_node"); off != nullptr && off->is_array()) {
    for (const Json& cell : *off) {
      const double bytes = number(cell, "bytes").value_or(0);
      const auto src = rank_at(cell, "src");
      if (!src || bytes <= 0) continue;
      input.off_node[*src] += bytes;
      input.off_node_bytes += bytes;
    }
  }
  if (const Json* beyond = find(report, "off_node_matrix"); beyond != nullptr && beyond->is_array())
    input.beyond = read_matrix_cells(*beyond).value_or(std::vector<MatrixEntry>());
  if (const Json* intervals = find(report, "intervals");
      intervals != nullptr && intervals->is_array()) {
    for (const Json& interval : *intervals) {
      const double end = number(interval, "t").value_or(0);
      input.intervals +=
          static_cast<std::size_t>(std::clamp(number(interval, "count").value_or(1), 1.0, 1e9));
      input.sent.emplace_back(end, number(interval, "bytes").value_or(0));
      input.sent_off_node.emplace_back(end, number(interval, "off_node_bytes").value_or(0));
    }
    if (!input.sent.empty()) input.seconds = input.sent.back().first;
  }
  read_notes(report, input);
  if (const Json* totals = find(report, "totals"))
    input.remaps = static_cast<int>(std::min(number(*totals, "remaps").value_or(0), 1e9));
}

}  // namespace

Result<ReportInput> parse_report(std::string_view text, const std::string& name) {
  if (is_json_too_deep(text))
    return Error(fmt::format("'{}' is not a report of ondeloc: brackets nest deeper than {}", name,
                             kMaxJsonDepth));
  return read_report(Json::parse(text, nullptr, false), name);
}

Result<ReportInput> read_report(const Json& report, const std::string& name) {
  if (Status good = check_report_json(report, fmt::format("'{}'", name)); !good)
    return std::move(good).error();
  const Json *cells = find(report, "matrix"), *ranks = find(report, "ranks");
  auto entries = cells != nullptr && cells->is_array() ? read_matrix_cells(*cells)
                                                       : std::optional<std::vector<MatrixEntry>>();
  if (!entries || ranks == nullptr || !ranks->is_array())
    return Error(fmt::format("'{}' is not a report of ondeloc", name));
  ReportInput input;
  for (const Json& rank : *ranks) {
    const auto index = rank_at(rank, "rank");
    if (const Json* value = find(rank, "rank"); value != nullptr && *value == -1)
      return Error(fmt::format(
          "report '{}' is of a step that ended before all of its tasks had been started", name));
    if (!index)
      return Error(
          fmt::format("'{}' is not a report of ondeloc: a rank has no valid number", name));
    input.ranks.push_back(*index);
  }
  int most = -1;
  for (const int rank : input.ranks) most = std::max(most, rank);
  for (const MatrixEntry& entry : *entries) most = std::max({most, entry.src, entry.dst});
  if (most < 0) return Error(fmt::format("report '{}' holds no rank", name));
  input.matrix = CommMatrix::from_entries(most + 1, std::move(*entries));
  read_cpus(*ranks, input);
  read_extras(report, input);
  return input;
}

}  // namespace ondeloc
