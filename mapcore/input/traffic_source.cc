// SPDX-License-Identifier: Apache-2.0
#include "mapcore/input/traffic_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "mapcore/comm/matrix_io.h"
#include "mapcore/profile/job_report.h"
#include "mapcore/profile/pair_sum.h"

namespace ondeloc {
namespace {

Result<TrafficSource> open_series(const InputFile& file) {
  auto series = parse_intervals(file.text, file.name);
  if (!series) return std::move(series).error();
  auto sum = parse_matrix(file.text, file.name);
  if (!sum) return std::move(sum).error();
  return TrafficSource(PlainMatrices{*std::move(sum), *std::move(series)});
}

constexpr double kMostEntries = 1 << 26;  // of all matrices of a series: 1.5 GiB

// `entries`: those of each matrix; 0: not known yet.
Result<std::size_t> count_of(double run_seconds, double seconds, std::size_t entries = 0) {
  const double count = std::ceil(run_seconds / seconds);
  const double fits = kMostEntries / std::max(1.0, static_cast<double>(entries));
  const double most = std::floor(std::clamp(fits, 1.0, double{kMaxMatrixIntervals}));
  if (count > most) {
    const bool is_wide = most < kMaxMatrixIntervals;
    return Error(fmt::format(
        "the run has {:.0f} intervals of this length, more than {:.0f}{}; use longer ones", count,
        most, is_wide ? fmt::format(" matrices of {} pairs", entries) : std::string()));
  }
  return static_cast<std::size_t>(std::max(count, 1.0));
}

Result<std::vector<CommMatrix>> series_of_profile(ProfileReader& profile, double seconds,
                                                  const Progress& progress) {
  const TimeWindow span = profile.span();
  const auto count = count_of(static_cast<double>(span.to_ns - span.from_ns) * 1e-9, seconds);
  if (!count) return count.error();
  std::vector<PairSum> sums(*count, PairSum(profile.ranks(), 0));
  profile.for_each(
      {},
      [&](std::span<const ProfileEvent> events) {
        for (const ProfileEvent& event : events) {
          const double at = static_cast<double>(event.time_ns - span.from_ns) * 1e-9 / seconds;
          sums[std::min(static_cast<std::size_t>(at), *count - 1)].add(event);
        }
      },
      progress);
  std::vector<CommMatrix> series;
  for (const PairSum& sum : sums) series.push_back(sum.matrix());
  return series;
}

CommMatrix scaled(CommMatrix matrix, double share) {
  for (MatrixEntry& entry : matrix.entries) {
    entry.bytes *= share;
    entry.messages *= share;
  }
  return matrix;
}

// The end of each interval, seconds, and its bytes.
using Sent = std::vector<std::pair<double, double>>;

// The bytes that came from `from` to `to`, if those of each interval of the report came evenly.
double bytes_between(const Sent& intervals, double from, double to) {
  double bytes = 0, begin = 0;
  for (const auto& [end, sent] : intervals) {
    const double both = std::min(end, to) - std::max(begin, from);
    if (both > 0 && end > begin) bytes += sent * both / (end - begin);
    begin = end;
  }
  return bytes;
}

// The share of all bytes that each interval of `seconds` has; `without`: if there are no bytes.
std::vector<double> shares_of(const Sent& sent, double seconds, std::size_t count, double without) {
  double all = 0;
  for (const auto& [end, bytes] : sent) all += bytes;
  std::vector<double> shares;
  for (std::size_t i = 0; i < count; ++i) {
    const double from = static_cast<double>(i) * seconds;
    shares.push_back(all > 0 ? bytes_between(sent, from, from + seconds) / all : without);
  }
  return shares;
}

Result<std::vector<CommMatrix>> series_of_report(const ReportInput& report, double seconds) {
  const auto count = count_of(report.seconds, seconds, report.matrix.entries.size());
  if (!count) return count.error();
  std::vector<CommMatrix> series;
  for (const double share : shares_of(report.sent, seconds, *count, 0))
    series.push_back(scaled(report.matrix, share));
  return series;
}

}  // namespace

Result<TrafficSource> open_traffic(const std::string& path, Need need) {
  auto file = load_input(path, need);
  if (!file) return std::move(file).error();
  return open_traffic(*std::move(file));
}

Result<TrafficSource> open_traffic(InputFile file) {
  if (file.kind == InputKind::kProfile) {
    auto profile = ProfileReader::from_fd(std::move(file.profile), file.name);
    if (!profile) return std::move(profile).error();
    return TrafficSource(*std::move(profile));
  }
  if (is_report(file.kind)) {
    auto report = file.kind == InputKind::kReport ? parse_report(file.text, file.name)
                                                  : parse_job_report(file.text, file.name);
    if (!report) return std::move(report).error();
    return TrafficSource(*std::move(report));
  }
  if (file.kind == InputKind::kSeries) return open_series(file);
  auto matrix = parse_matrix(file.text, file.name);
  if (!matrix) return std::move(matrix).error();
  return TrafficSource(PlainMatrices{*std::move(matrix), {}});
}

Result<NodePart> part_of(const TrafficSource& source, const std::string& name) {
  if (const auto* profile = std::get_if<ProfileReader>(&source)) return node_part(*profile, name);
  if (const auto* report = std::get_if<ReportInput>(&source)) return node_part(*report, name);
  return NodePart{};
}

Result<std::vector<CommMatrix>> series_of(TrafficSource& source, double seconds,
                                          const Progress& progress) {
  if (auto* profile = std::get_if<ProfileReader>(&source))
    return series_of_profile(*profile, seconds, progress);
  if (const auto* report = std::get_if<ReportInput>(&source))
    return series_of_report(*report, seconds);
  return std::get<PlainMatrices>(source).series;
}

std::vector<double> off_node_shares(const ReportInput& report, double seconds,
                                    std::size_t intervals) {
  return shares_of(report.sent_off_node, seconds, intervals,
                   1 / static_cast<double>(std::max<std::size_t>(intervals, 1)));
}

bool has_one_pattern(const TrafficSource& source) {
  return std::holds_alternative<ReportInput>(source);
}

}  // namespace ondeloc
