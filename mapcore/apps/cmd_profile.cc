// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/cmd_profile.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "mapcore/apps/overview.h"
#include "mapcore/apps/say.h"
#include "mapcore/base/progress.h"
#include "mapcore/base/text.h"
#include "mapcore/profile/window_matrix.h"

namespace ondeloc::cli {

void add_profile_file(CLI::App& command, TrafficOptions& options) {
  command.add_option("FILE", options.file, "a profile; - reads standard input")->required();
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

// The number of clusters that was found may be wrong: it is one, or the largest that was tried.
bool is_doubtful(const Clusters& found) {
  return found.clusters.size() == 1 || found.clusters.size() >= found.most;
}

void say_doubtful(const Clusters& found) {
  if (!is_doubtful(found)) return;
  say(fmt::format(
      "{} in {} time bins of {}, of at most {}; if the program sends in more bursts, try --bins {} "
      "--max-clusters {}, or a part of the run with --window",
      found.clusters.size() == 1 ? "one cluster"
                                 : fmt::format("{} clusters", found.clusters.size()),
      found.bins.count(), seconds_text(found.bins.width_ns() * 1e-9), found.most,
      std::min<std::size_t>(10 * found.finest, 65536),
      std::min<std::size_t>(std::max(10 * found.most, found.finest), 1000)));
}

}  // namespace

void say_fewer(const ClusterOptions& wanted, const Clusters& found) {
  if (wanted.clusters == 0) return say_doubtful(found);
  if (found.clusters.size() >= wanted.clusters) return;
  say(
      fmt::format("{} clusters instead of {}: only so many of the {} time bins hold messages; use "
                  "more --bins",
                  found.clusters.size(), wanted.clusters, found.bins.count()));
}

Result<TimeWindow> parse_window(const std::string& text, ProfileReader& profile) {
  if (text.empty()) return TimeWindow{};
  const TimeWindow span = profile.span();
  const std::size_t colon = text.find(':');
  if (colon == text.npos)
    return Error(fmt::format("--window: '{}' is not FROM:TO, such as 500ms:2s", shorten(text)));
  const auto time = [](std::string_view piece, double missing) {
    return piece.empty() ? Result<double>(missing) : parse_quantity(piece, Quantity::kSeconds);
  };
  const auto from = time(std::string_view(text).substr(0, colon), 0);
  const auto to = time(std::string_view(text).substr(colon + 1), 1e9);
  for (const auto* bound : {&from, &to})
    if (!*bound) return Error(bound->error()).within("--window");
  if (*to <= *from || *from > 1e9)
    return Error(fmt::format("--window: '{}' ends before it begins", shorten(text)));
  auto at = [&](double s) {
    return span.from_ns + static_cast<std::uint64_t>(std::llround(std::min(s, 1e9) * 1e9));
  };
  const TimeWindow window{at(*from), at(*to)};
  if (window.from_ns >= span.to_ns)
    return Error(fmt::format("--window: the run is over {} after its first message",
                             seconds_text(static_cast<double>(span.to_ns - span.from_ns) * 1e-9)));
  std::size_t inside = 0;
  profile.for_each(window, [&](std::span<const ProfileEvent> part) { inside += part.size(); });
  if (inside == 0)
    return Error(fmt::format(
        "--window: no message lies in '{}'; 'ondeloc profile clusters' tells when there are "
        "any",
        shorten(text)));
  return window;
}

Result<ProfileReader> open_profile(const std::string& path) {
  auto file = load_input(path);
  if (!file) return std::move(file).error();
  if (file->kind == InputKind::kProfile)
    return ProfileReader::from_fd(std::move(file->profile), file->name);
  const InputKindInfo& info = info_of(file->kind);
  return Error(fmt::format("'{}' is {}; {}", file->name, info.what,
                           info.hint.empty()
                               ? "this command needs single messages, record them with "
                                 "--ondeloc=profile:FILE"
                               : info.hint));
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
  if (!damage.empty()) say(damage);
  const RankDrops lost = all_drops(profile);
  if (lost.events == 0) return;
  const double all = static_cast<double>(lost.events) + static_cast<double>(profile.events());
  say(fmt::format(
      "{} messages ({:.3g} %) were dropped while recording: times and clusters rest on the others, "
      "sums over the whole run are exact between ranks of one node",
      lost.events, 100 * static_cast<double>(lost.events) / all));
}

void add_profile(CLI::App& app, Job& job) {
  CLI::App* profile = app.add_subcommand("profile", "look into a recorded run, message by message");
  profile->require_subcommand(1);
  add_quantity(*profile, "--progress-after", progress_after_s, Quantity::kSeconds, 0, 1e6,
               "say how far the work is if it takes longer than this (default: 1s)");
  add_profile_files(*profile, job);
  add_profile_analysis(*profile, job);
  add_profile_survey(*profile, job);
  add_profile_pictures(*profile, job);
  add_map_command(*profile, job);
  profile->footer(
      examples({"srun --ondeloc=profile:app.prof ./app", "ondeloc profile classify app.prof",
                "ondeloc profile map app.prof -f rankfile -o ranks.txt",
                "srun --ondeloc=static:ranks.txt ./app"}));
}

}  // namespace ondeloc::cli
