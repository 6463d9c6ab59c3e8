// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/workload.h"

#include <fmt/format.h>

#include <algorithm>

#include "mapcore/apps/cmd_profile.h"
#include "mapcore/apps/say.h"
#include "mapcore/base/read_file.h"
#include "mapcore/base/text.h"
#include "mapcore/profile/window_matrix.h"

namespace ondeloc::cli {

CLI::Option* add_traffic(CLI::App& command, TrafficOptions& options, const std::string& names) {
  return command.add_option(
      names.empty() ? "FILE" : "FILE," + names, options.file,
      "a profile, the report of an online run, or a matrix (.mat, or CSV with "
      "src,dst,bytes); - reads standard input");
}

CLI::Option* add_window(CLI::App& command, TrafficOptions& options) {
  return command
      .add_option("-w,--window", options.window,
                  "of a profile only messages from FROM to TO after the first message, such as "
                  "500ms:2s or 10s: (default: all)")
      ->check(not_empty());
}

Result<CommMatrix> source_matrix(TrafficSource& source, const TrafficOptions& options) {
  auto* profile = std::get_if<ProfileReader>(&source);
  if (profile == nullptr && !options.window.empty())
    return Error(fmt::format("--window: '{}' holds no times of messages; leave the option out",
                             name_of_input(options.file)));
  if (const auto* report = std::get_if<ReportInput>(&source)) return report->matrix;
  if (profile == nullptr) return std::get<PlainMatrices>(source).sum;
  const auto window = parse_window(options.window, *profile);
  if (!window) return window.error();
  CommMatrix matrix = profile_matrix(*profile, *window, show_progress("reading"));
  say_losses(*profile);
  return matrix;
}

Status check_ranks_of_part(const NodePart& part, int wanted, const std::string& file) {
  if (part.ranks.empty() || wanted == 0) return {};
  return Error(
      fmt::format("--ranks: '{}' has only the {} ranks of node '{}', and no other rank belongs "
                  "there; leave the option out",
                  name_of_input(file), part.ranks.size(), part.node));
}

namespace {

// Bytes that the ranks of the node sent off it: to ranks of other nodes in a profile, a sum in a
// report, of which `share` counts.
std::vector<double> bytes_off_node(const TrafficSource& source, const CommMatrix& matrix,
                                   const NodePart& part, double share = 1) {
  std::vector<double> bytes = matrix.sent_beyond(part.ranks);
  if (const auto* report = std::get_if<ReportInput>(&source)) {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      const auto at = report->off_node.find(part.ranks[i]);
      if (at != report->off_node.end()) bytes[i] += share * at->second;
    }
  }
  return bytes;
}

double seconds_of(const TimeWindow& window) {
  return static_cast<double>(window.to_ns - window.from_ns) * 1e-9;
}

// The window has been parsed before, so that it is right.
double seconds_of(TrafficSource& source, const TrafficOptions& options) {
  if (const auto* report = std::get_if<ReportInput>(&source)) return report->seconds;
  auto* profile = std::get_if<ProfileReader>(&source);
  if (profile == nullptr) return 0;
  const TimeWindow span = profile->span();
  const auto window = parse_window(options.window, *profile);
  if (!window) return 0;
  return seconds_of({std::max(span.from_ns, window->from_ns), std::min(span.to_ns, window->to_ns)});
}

int recorded_share_of(const TrafficSource& source) {
  if (const auto* profile = std::get_if<ProfileReader>(&source))
    return recorded_share(profile->cpus());
  const auto* report = std::get_if<ReportInput>(&source);
  return report != nullptr ? recorded_share(report->cpus) : 0;
}

}  // namespace

int recorded_cpus_per_task(const TrafficSource& source, const std::string& file,
                           const MachineChoice& choice, int ranks) {
  const int share = recorded_share_of(source);
  const int fits = std::max(1, choice.usable.count() / std::max(1, ranks));
  if (share > fits)
    say(
        fmt::format("each rank had {} CPUs when '{}' was recorded, and only {} per rank fit here; "
                    "choose others with --cpuset or --topology",
                    share, name_of_input(file), counted(static_cast<std::size_t>(fits), "CPU")));
  return share > 1 ? std::min(share, fits) : 0;
}

Result<Workload> read_workload(TrafficSource& source, const TrafficOptions& options) {
  auto part = part_of(source, name_of_input(options.file));
  if (!part) return std::move(part).error();
  auto matrix = source_matrix(source, options);
  if (!matrix) return std::move(matrix).error();
  Workload work{*std::move(part), *std::move(matrix), {}, {}, seconds_of(source, options)};
  const auto* profile = std::get_if<ProfileReader>(&source);
  if (profile != nullptr && !profile->threads().empty()) work.names.threads_of = 0;
  if (work.part.ranks.empty()) return work;
  work.off_node = bytes_off_node(source, work.matrix, work.part);
  work.matrix = work.matrix.among(work.part.ranks);
  work.names.world = work.part.ranks;
  work.names.host = work.part.node;
  return work;
}

namespace {

std::vector<std::vector<double>> series_off_node(const TrafficSource& source,
                                                 const std::vector<CommMatrix>& matrices,
                                                 const NodePart& part, double seconds) {
  const auto* report = std::get_if<ReportInput>(&source);
  std::vector<double> shares(matrices.size(), 1);
  if (report != nullptr) shares = off_node_shares(*report, seconds, matrices.size());
  std::vector<std::vector<double>> off_node;
  for (std::size_t i = 0; i < matrices.size(); ++i)
    off_node.push_back(bytes_off_node(source, matrices[i], part, shares[i]));
  return off_node;
}

}  // namespace

Result<SeriesWorkload> read_series(TrafficSource& source, const std::string& file, double seconds) {
  auto part = part_of(source, name_of_input(file));
  if (!part) return std::move(part).error();
  auto series = series_of(source, seconds, show_progress("reading"));
  if (!series) return std::move(series).error().within(name_of_input(file));
  if (has_one_pattern(source))
    say(
        fmt::format("'{}' holds one matrix for the whole run; every interval is taken to have its "
                    "pattern (a profile holds what each interval had)",
                    name_of_input(file)));
  if (const auto* profile = std::get_if<ProfileReader>(&source)) say_losses(*profile);
  SeriesWorkload work{*std::move(part), *std::move(series), {}};
  if (!std::holds_alternative<PlainMatrices>(source))
    work.run_seconds = seconds_of(source, {.file = file, .window = ""});
  if (work.part.ranks.empty()) return work;
  work.off_node = series_off_node(source, work.matrices, work.part, seconds);
  for (CommMatrix& matrix : work.matrices) matrix = matrix.among(work.part.ranks);
  return work;
}

}  // namespace ondeloc::cli
