// SPDX-License-Identifier: Apache-2.0
#include "mapcore/input/placement_source.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "mapcore/base/text.h"
#include "mapcore/report/report_version.h"

namespace ondeloc {
namespace {

using Json = nlohmann::json;

// The number and the CPUs of one rank of a report.
Status take_rank(const Json& rank, WorldCpus& placement) {
  const auto number = rank.is_object() ? rank.find("rank") : rank.end();
  const auto cpus = rank.is_object() ? rank.find("final_cpus") : rank.end();
  if (number == rank.end() || !number->is_number_integer() || cpus == rank.end() ||
      !cpus->is_string())
    return Error("a rank has no number or no final_cpus");
  const auto at = number->get<std::int64_t>();
  if (at < 0 || at > kMaxWorldRank)
    return Error(fmt::format("rank {} is not one of 0 to {}", at, kMaxWorldRank));
  auto list = CpuSet::parse_list(cpus->get<std::string>());
  if (!list) return std::move(list).error().within(fmt::format("rank {}", at));
  return place_rank(placement, static_cast<int>(at), *std::move(list));
}

RankCpus cpus_of_needed(const WorldCpus& placement, const PlacedRanks& ranks) {
  RankCpus cpus;
  for (const auto& [rank, pus] : placement)
    if (ranks.needs(rank)) cpus.push_back(pus);
  return cpus;
}

}  // namespace

Result<WorldCpus> parse_report_placement(std::string_view text, const std::string& name) {
  if (is_json_too_deep(text))
    return Error(fmt::format("report '{}': brackets nest deeper than {}", name, kMaxJsonDepth));
  const Json report = Json::parse(text, nullptr, false);
  if (Status good = check_report_json(report, fmt::format("'{}'", name)); !good)
    return std::move(good).error();
  const auto ranks = report.is_object() ? report.find("ranks") : report.end();
  if (ranks == report.end() || !ranks->is_array())
    return Error(fmt::format("'{}' is not a report of ondeloc", name));
  WorldCpus placement;
  for (const Json& rank : *ranks) {
    if (Status taken = take_rank(rank, placement); !taken)
      return std::move(taken).error().within(fmt::format("report '{}'", name));
  }
  return placement;
}

Result<RankCpus> read_placement(const std::string& path, const Machine& machine,
                                const CpuSet& usable, const PlacedRanks& ranks) {
  const auto file = load_input(path, Need::kMapping);
  if (!file) return file.error();
  const std::string_view text = without_mark(file->text);
  auto placement = file->kind == InputKind::kReport ? parse_report_placement(text, file->name)
                   : file->kind == InputKind::kMapping
                       ? parse_mapping_json(text, file->name)
                       : parse_rankfile_placement(text, file->name, machine, usable);
  if (!placement) return std::move(placement).error();
  if (Status good = check_placement(*placement, machine, usable, ranks); !good)
    return std::move(good).error().within(fmt::format("mapping '{}'", file->name));
  return cpus_of_needed(*placement, ranks);
}

}  // namespace ondeloc
