// SPDX-License-Identifier: Apache-2.0
// What the subcommands of `ondeloc profile` share. Each cmd_profile_*.cc adds some of them.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "mapcore/apps/cli.h"
#include "mapcore/profile/clusters.h"
#include "mapcore/profile/node_part.h"
#include "mapcore/profile/reader.h"
#include "mapcore/profile/report_input.h"

namespace ondeloc::cli {

void add_profile_files(CLI::App& profile, Job& job);     // import, info, merge, export
void add_profile_analysis(CLI::App& profile, Job& job);  // metrics, clusters, classify
void add_profile_pictures(CLI::App& profile, Job& job);  // heatmap, timeline
void add_profile_map(CLI::App& profile, Job& job);       // map

// The file argument and the part of the run that counts.
struct ProfileOptions {
  std::string file;
  std::string window;  // "FROM:TO", seconds since the first message; empty: the whole run
};
void add_profile_file(CLI::App& command, ProfileOptions& options, bool reports);
void add_profile_window(CLI::App& command, ProfileOptions& options);
void add_cluster_options(CLI::App& command, ClusterOptions& options);
// Says on standard error when there are fewer clusters than were asked for.
void say_fewer(const ClusterOptions& wanted, const Clusters& found);

// Seconds since the profile's first message -> its clock. Errors: not two numbers, no message
// inside.
Result<TimeWindow> parse_window(const std::string& text, ProfileReader& profile);

// Opens the file and says its damage, if any, on standard error.
Result<ProfileReader> open_profile(const std::string& path);

// A recorded profile, or the report of an online run (no events).
using ProfileSource = std::variant<ProfileReader, ReportInput>;
Result<ProfileSource> open_source(const std::string& path);
// Whose ranks it holds; `file` is its name. Errors: as node_part.
Result<NodePart> part_of(const ProfileSource& source, const std::string& file);
// The sum matrix of either; a window of a report is an error.
Result<CommMatrix> source_matrix(ProfileSource& source, const ProfileOptions& options);

// Says on standard error how far a long job is, from --progress-after on, counted from the first
// phase.
Progress show_progress(const std::string& what);
// What reading found damaged and what the recording dropped, said once at the end.
void say_losses(const ProfileReader& profile);

}  // namespace ondeloc::cli
