// SPDX-License-Identifier: Apache-2.0
// Shared by the subcommands of `ondeloc profile`. Each cmd_profile_*.cc adds some of them.
#pragma once

#include <memory>
#include <string>

#include "mapcore/apps/cli.h"
#include "mapcore/apps/workload.h"
#include "mapcore/profile/clusters.h"
#include "mapcore/profile/reader.h"

namespace ondeloc::cli {

void add_profile_files(CLI::App& profile, Job& job);     // import, info, merge, export
void add_profile_analysis(CLI::App& profile, Job& job);  // metrics, clusters, classify
void add_profile_survey(CLI::App& profile, Job& job);    // survey
void add_profile_pictures(CLI::App& profile, Job& job);  // heatmap, timeline
void add_map_command(CLI::App& parent, Job& job);        // map
void add_heatmap_command(CLI::App& parent, Job& job);    // heatmap

// FILE of a command that needs single messages.
void add_profile_file(CLI::App& command, TrafficOptions& options);
void add_cluster_options(CLI::App& command, ClusterOptions& options);
// Tells on standard error that there are fewer clusters than were asked for.
void say_fewer(const ClusterOptions& wanted, const Clusters& found);

// "500ms:2s" after the profile's first message, on the profile's clock. Errors: not two times, no
// message inside.
Result<TimeWindow> parse_window(const std::string& text, ProfileReader& profile);

// Errors: the file is of another kind, which has no single messages.
Result<ProfileReader> open_profile(const std::string& path);

// Tells on standard error how far a long job is, from --progress-after on, counted from the first
// phase.
Progress show_progress(const std::string& what);
// Tells about damage in the file and dropped messages; call it once, at the end.
void say_losses(const ProfileReader& profile);

}  // namespace ondeloc::cli
