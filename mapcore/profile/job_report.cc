// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/job_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/profile/report_json_input.h"
#include "mapcore/report/report_version.h"

namespace ondeloc {
namespace {

using Json = nlohmann::ordered_json;

Error not_a_job(const std::string& name, const char* why) {
  return Error(fmt::format("'{}' is not the report of a job: {}", name, why));
}

// Which part brought each node and each rank: of both there is one.
struct Seen {
  std::map<std::string, std::string> nodes;
  std::map<int, std::string> ranks;

  Status add(const NamedReport& part) {
    for (const std::string& node : part.report.nodes)
      if (const auto [at, is_new] = nodes.emplace(node, part.name); !is_new && !node.empty())
        return Error(fmt::format("'{}' and '{}' are both of node {}; give each node once",
                                 at->second, part.name, node));
    for (const int rank : part.report.ranks)
      if (const auto [at, is_new] = ranks.emplace(rank, part.name); !is_new)
        return Error(fmt::format("rank {} is in '{}' and in '{}'; give the reports of one step",
                                 rank, at->second, part.name));
    return {};
  }
};

// A requeued job runs its steps again under their numbers.
std::string step_of(const ReportInput& report) {
  const std::string step = fmt::format("job {} step {}", report.job, report.step);
  return report.restarts > 0 ? fmt::format("{}, restart {}", step, report.restarts) : step;
}

Status check_steps(const std::vector<NamedReport>& parts) {
  const NamedReport& first = parts.front();
  for (const NamedReport& part : parts)
    if (step_of(part.report) != step_of(first.report))
      return Error(fmt::format("'{}' is of {}, and '{}' of {}; give the reports of one step",
                               first.name, step_of(first.report), part.name, step_of(part.report)));
  return {};
}

// The bytes of each rank to other nodes that have no receiver in `beyond`.
void keep_rest_off_node(ReportInput& part) {
  for (const MatrixEntry& entry : part.beyond) {
    const auto sum = part.off_node.find(entry.src);
    if (sum != part.off_node.end()) sum->second -= entry.bytes;
  }
  std::erase_if(part.off_node, [](const auto& rest) { return rest.second <= 0; });
}

void add_part(ReportInput part, ReportInput& job) {
  keep_rest_off_node(part);
  auto& entries = job.matrix.entries;
  entries.insert(entries.end(), part.matrix.entries.begin(), part.matrix.entries.end());
  entries.insert(entries.end(), part.beyond.begin(), part.beyond.end());
  job.matrix.ranks = std::max(job.matrix.ranks, part.matrix.ranks);
  for (const MatrixEntry& entry : part.beyond)
    job.matrix.ranks = std::max({job.matrix.ranks, entry.src + 1, entry.dst + 1});
  job.nodes.insert(job.nodes.end(), part.nodes.begin(), part.nodes.end());
  job.ranks.insert(job.ranks.end(), part.ranks.begin(), part.ranks.end());
  job.cpus.insert(job.cpus.end(), part.cpus.begin(), part.cpus.end());
  job.off_node.merge(part.off_node);
  job.off_node_bytes += part.off_node_bytes;
  job.seconds = std::max(job.seconds, part.seconds);
  job.remaps += part.remaps;
  for (const std::string& note : part.notes)
    job.notes.push_back(part.node.empty() ? note : fmt::format("{}: {}", part.node, note));
}

// The intervals of the nodes do not begin together: a job has one for the whole run.
void finish(ReportInput& job) {
  job.matrix = CommMatrix::from_entries(job.matrix.ranks, std::move(job.matrix.entries));
  std::sort(job.ranks.begin(), job.ranks.end());
  if (job.cpus.size() != job.ranks.size()) job.cpus.clear();  // all or nothing, as of a node
  job.intervals = 1;
  job.sent = {{job.seconds, job.matrix.total_bytes()}};
}

Result<std::vector<NamedReport>> parts_of(const Json& nodes, const std::string& name) {
  std::vector<NamedReport> parts;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    auto part = read_report(nodes[i], name);
    if (!part) return std::move(part).error();
    parts.push_back(
        {nodes.size() == 1 ? name : fmt::format("{}, part {}", name, i + 1), *std::move(part)});
  }
  return parts;
}

Result<Json> nodes_of_text(std::string_view text, const std::string& name) {
  if (is_json_too_deep(text)) return not_a_job(name, "brackets nest too deep");
  Json report = Json::parse(without_mark(text), nullptr, false);
  if (Status good = check_report_json(report, fmt::format("'{}'", name)); !good)
    return std::move(good).error();
  if (!report.is_object()) return not_a_job(name, "it is not an object of JSON");
  if (!report.contains("nodes")) return Json::array({std::move(report)});
  Json nodes = std::move(report["nodes"]);
  if (!nodes.is_array() || nodes.empty()) return not_a_job(name, "its nodes are not a list");
  if (nodes.size() > kMostNodeReports) return not_a_job(name, "it has too many nodes");
  return nodes;
}

}  // namespace

Result<ReportInput> join_reports(std::vector<NamedReport> parts) {
  if (parts.empty()) return Error("no report is given");
  if (Status good = check_steps(parts); !good) return std::move(good).error();
  Seen seen;
  ReportInput job;
  job.job = parts.front().report.job;
  job.step = parts.front().report.step;
  job.restarts = parts.front().report.restarts;
  for (NamedReport& part : parts) {
    if (Status good = seen.add(part); !good) return std::move(good).error();
    add_part(std::move(part.report), job);
  }
  finish(job);
  return job;
}

Result<ReportInput> parse_job_report(std::string_view text, const std::string& name) {
  const auto nodes = nodes_of_text(text, name);
  if (!nodes) return nodes.error();
  auto parts = parts_of(*nodes, name);
  if (!parts) return std::move(parts).error();
  return join_reports(*std::move(parts));
}

Result<MergedReports> merge_reports(const std::vector<NamedText>& reports) {
  std::vector<NamedReport> parts;
  Json all = Json::array();
  for (const NamedText& report : reports) {
    auto nodes = nodes_of_text(report.text, report.name);
    if (!nodes) return std::move(nodes).error();
    auto more = parts_of(*nodes, report.name);
    if (!more) return std::move(more).error();
    std::move(more->begin(), more->end(), std::back_inserter(parts));
    std::move(nodes->begin(), nodes->end(), std::back_inserter(all));
  }
  if (all.size() > kMostNodeReports)
    return Error(fmt::format("{} nodes are more than {}", all.size(), kMostNodeReports));
  auto joined = join_reports(std::move(parts));
  if (!joined) return std::move(joined).error();
  const Json job = {{"version", kReportVersion},
                    {"job", joined->job},
                    {"step", joined->step},
                    {"nodes", std::move(all)}};
  std::string text = job.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  if (text.size() > kMostJobReportBytes)
    return Error(fmt::format("the reports have {} together, and a job report has {} at most",
                             bytes_text(static_cast<double>(text.size())),
                             bytes_text(static_cast<double>(kMostJobReportBytes))));
  return MergedReports{std::move(text), *std::move(joined)};
}

}  // namespace ondeloc
