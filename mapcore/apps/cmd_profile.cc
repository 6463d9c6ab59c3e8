// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/cmd_profile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "mapcore/base/progress.h"
#include "mapcore/base/text.h"
#include "mapcore/profile/window_matrix.h"

namespace ondeloc::cli {

void add_profile_file(CLI::App& command, ProfileOptions& options, bool reports) {
  command
      .add_option("FILE", options.file,
                  reports ? "profile, or the JSON report of an online run" : "profile")
      ->required();
}

void add_profile_window(CLI::App& command, ProfileOptions& options) {
  command
      .add_option("-w,--window", options.window,
                  "only messages from FROM to TO, seconds since the first, such as 0.5:2 or "
                  "10: (default: all)")
      ->check(not_empty());
}

void add_cluster_options(CLI::App& command, ClusterOptions& options) {
  command
      .add_option(
          "--bins", options.bins,
          "equal time bins that the run is cut into; messages in one bin count as "
          "simultaneous; more bins find more and shorter clusters (default: 100, and up to 1600 "
          "where these tell no bursts apart)")
      ->check(CLI::Range(1, 65536));
  command
      .add_option(
          "--max-clusters", options.max_clusters,
          "largest number of clusters that is tried (default: 50, and half of the bins where "
          "the default takes more than 100)")
      ->check(CLI::Range(1, 1000));
  command
      .add_option("-k,--clusters", options.clusters,
                  "this number of clusters (default: chosen by BIC)")
      ->check(CLI::Range(1, 1000));
}

namespace {

// The number was ours to find, and may be another: none told apart, or all that is looked for.
bool is_doubtful(const Clusters& found) {
  return found.clusters.size() == 1 || found.clusters.size() >= found.most;
}

void say_doubtful(const Clusters& found) {
  if (!is_doubtful(found)) return;
  fmt::print(stderr,
             "ondeloc: {} in {} time bins of {:.3g} s, of at most {}: if the program sends in more "
             "bursts, try --bins {} --max-clusters {}, or a part of the run with --window\n",
             found.clusters.size() == 1 ? "one cluster"
                                        : fmt::format("{} clusters", found.clusters.size()),
             found.bins.count(), found.bins.width_ns() * 1e-9, found.most,
             std::min<std::size_t>(10 * found.finest, 65536),
             std::min<std::size_t>(std::max(10 * found.most, found.finest), 1000));
}

}  // namespace

void say_fewer(const ClusterOptions& wanted, const Clusters& found) {
  if (wanted.clusters == 0) return say_doubtful(found);
  if (found.clusters.size() >= wanted.clusters) return;
  fmt::print(stderr,
             "ondeloc: {} clusters instead of {}: only so many of the {} time bins hold messages, "
             "use more --bins\n",
             found.clusters.size(), wanted.clusters, found.bins.count());
}

Result<TimeWindow> parse_window(const std::string& text, ProfileReader& profile) {
  if (text.empty()) return TimeWindow{};
  const TimeWindow span = profile.span();
  const std::size_t colon = text.find(':');
  auto seconds = [](std::string_view piece, double missing) {
    return piece.empty() ? std::optional(missing) : parse_double(piece);
  };
  const auto from = seconds(std::string_view(text).substr(0, colon), 0);
  const auto to =
      colon == text.npos ? std::nullopt : seconds(std::string_view(text).substr(colon + 1), 1e9);
  if (!from || !to || *from < 0 || *to <= *from || *from > 1e9)
    return Error(
        fmt::format("--window: '{}' is not FROM:TO in seconds, such as 0.5:2", shorten(text)));
  auto at = [&](double s) {
    return span.from_ns + static_cast<std::uint64_t>(std::llround(std::min(s, 1e9) * 1e9));
  };
  const TimeWindow window{at(*from), at(*to)};
  if (window.from_ns >= span.to_ns)
    return Error(fmt::format("--window: the run is over {:.6g} s after its first message",
                             static_cast<double>(span.to_ns - span.from_ns) * 1e-9));
  std::size_t inside = 0;
  profile.for_each(window, [&](std::span<const ProfileEvent> part) { inside += part.size(); });
  if (inside == 0)
    return Error(
        fmt::format("--window: no message lies in '{}'; `ondeloc profile clusters` says "
                    "when there are any",
                    shorten(text)));
  return window;
}

Result<ProfileReader> open_profile(const std::string& path) {
  if (looks_like_report(path))
    return Error(
        fmt::format("'{}' is JSON: the report of an online run holds no single messages, record "
                    "them with --ondeloc=profile:FILE",
                    path));
  return ProfileReader::open(path);
}

Result<ProfileSource> open_source(const std::string& path) {
  if (looks_like_report(path)) {
    auto report = read_report(path);
    if (!report) return std::move(report).error();
    return ProfileSource(*std::move(report));
  }
  auto profile = ProfileReader::open(path);
  if (!profile) return std::move(profile).error();
  return ProfileSource(*std::move(profile));
}

Result<CommMatrix> source_matrix(ProfileSource& source, const ProfileOptions& options) {
  if (const auto* report = std::get_if<ReportInput>(&source)) {
    if (!options.window.empty()) return Error("--window: a report holds no times of messages");
    return report->matrix;
  }
  auto& profile = std::get<ProfileReader>(source);
  const auto window = parse_window(options.window, profile);
  if (!window) return window.error();
  CommMatrix matrix = profile_matrix(profile, *window, show_progress("reading"));
  say_losses(profile);
  return matrix;
}

Result<NodePart> part_of(const ProfileSource& source, const std::string& file) {
  if (const auto* report = std::get_if<ReportInput>(&source)) return node_part(*report);
  return node_part(std::get<ProfileReader>(source), file);
}

namespace {
double progress_after_s = 1;  // --progress-after
}  // namespace

Progress show_progress(const std::string& what) {
  static ProgressMeter meter(std::chrono::duration_cast<ProgressMeter::Clock::duration>(
                                 std::chrono::duration<double>(progress_after_s)),
                             isatty(STDERR_FILENO) != 0, [](std::string_view text) {
                               std::fwrite(text.data(), 1, text.size(), stderr);
                               std::fflush(stderr);
                             });
  return meter.phase(what);
}

void say_losses(const ProfileReader& profile) {
  const std::string damage = profile.damage();
  if (!damage.empty()) fmt::print(stderr, "ondeloc: {}\n", damage);
  const RankDrops lost = all_drops(profile);
  if (lost.events == 0) return;
  const double all = static_cast<double>(lost.events) + static_cast<double>(profile.events());
  fmt::print(
      stderr,
      "ondeloc: {} messages ({:.3g} %) were dropped while recording: times and clusters rest "
      "on the others, sums over the whole run are exact between ranks of one node\n",
      lost.events, 100 * static_cast<double>(lost.events) / all);
}

void add_profile(CLI::App& app, Job& job) {
  CLI::App* profile = app.add_subcommand(
      "profile", "what a recorded run says, and the static mapping that fits it");
  profile->require_subcommand(1);
  profile
      ->add_option("--progress-after", progress_after_s,
                   "say how far the work is once it takes longer than this, seconds (default: 1)")
      ->check(finite(0, 1e6, "seconds"));
  add_profile_files(*profile, job);
  add_profile_analysis(*profile, job);
  add_profile_pictures(*profile, job);
  add_profile_map(*profile, job);
  profile->footer(
      "Examples:\n"
      "  srun --ondeloc=profile:app.prof ./app\n"
      "  ondeloc profile classify app.prof\n"
      "  ondeloc profile map app.prof -f rankfile -o ranks.txt\n"
      "  srun --ondeloc=static:ranks.txt ./app");
}

}  // namespace ondeloc::cli
