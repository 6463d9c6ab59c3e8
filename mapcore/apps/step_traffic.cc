// SPDX-License-Identifier: Apache-2.0
#include "mapcore/apps/step_traffic.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "mapcore/apps/cli.h"
#include "mapcore/apps/cmd_profile.h"
#include "mapcore/apps/say.h"
#include "mapcore/apps/workload.h"
#include "mapcore/base/new_file.h"
#include "mapcore/base/quantity.h"
#include "mapcore/base/read_file.h"
#include "mapcore/input/traffic_source.h"
#include "mapcore/profile/job_report.h"

namespace ondeloc::cli {
namespace {

// The files that were read so far, added up.
struct Step {
  int ranks = 0;
  std::vector<MatrixEntry> entries;
  bool is_partial = false;           // a file holds some ranks only
  std::map<int, std::string> known;  // then: the file that holds what a rank sent
  std::string whole;                 // a profile of all ranks; empty: none
  std::vector<NamedReport> reports;

  void add(const CommMatrix& matrix) {
    entries.insert(entries.end(), matrix.entries.begin(), matrix.entries.end());
    ranks = std::max(ranks, matrix.ranks);
  }
  // Error: another file holds what one of the ranks sent.
  Status add_known(const std::vector<int>& some, const std::string& file) {
    for (const int rank : some)
      if (const auto [at, is_new] = known.emplace(rank, file); !is_new)
        return Error(fmt::format("'{}' and '{}' both hold what rank {} sent; give one of them only",
                                 at->second, file, rank));
    return {};
  }
};

Status add_profile(TrafficSource& source, const TrafficOptions& options, Step& step) {
  const std::string name = name_of_input(options.file);
  const auto* profile = std::get_if<ProfileReader>(&source);
  if (profile != nullptr && profile->header().nodes > 1) {
    if (Status all = check_all_ranks(*profile, name); !all) return all;
    step.whole = name;
  } else {
    const auto part = part_of(source, name);
    if (!part) return part.error();
    step.is_partial = step.is_partial || !part->ranks.empty();
    if (profile != nullptr && part->ranks.empty()) step.whole = name;
    if (Status once = step.add_known(part->ranks, name); !once) return once;
  }
  const auto matrix = source_matrix(source, options);
  if (!matrix) return matrix.error();
  step.add(*matrix);
  return {};
}

Status add_file(const TrafficOptions& options, Step& step) {
  auto source = open_traffic(options.file);
  if (!source) return std::move(source).error();
  auto* report = std::get_if<ReportInput>(&*source);
  if (report == nullptr) return add_profile(*source, options, step);
  if (!options.window.empty()) return source_matrix(*source, options).error();
  step.reports.push_back({name_of_input(options.file), std::move(*report)});
  return {};
}

// Bytes of ranks that have more receivers than a rank tells apart, or of an earlier release.
Status tell_bytes_without_receiver(const ReportInput& job, const std::string& name) {
  double rest = 0;
  for (const auto& [rank, bytes] : job.off_node) rest += bytes;
  const double all = job.matrix.total_bytes() + rest;
  if (rest <= 0) return {};
  if (2 * rest >= all)
    return Error(fmt::format(
        "'{}' is the report of one node of several and names the receivers of few bytes "
        "only; give profiles of all nodes (srun --ondeloc=profile:FILE)",
        name));
  say(
      fmt::format("{} of {} went to ranks on other nodes that the reports do not name; they count "
                  "nowhere",
                  bytes_text(rest), bytes_text(all)));
  return {};
}

Status add_reports(Step& step) {
  if (step.reports.empty()) return {};
  const std::string name = step.reports.front().name;
  std::vector<std::pair<std::string, std::vector<int>>> ranks_of;
  for (const NamedReport& part : step.reports) ranks_of.emplace_back(part.name, part.report.ranks);
  const auto job = join_reports(std::move(step.reports));
  if (!job) return job.error();
  if (Status told = tell_bytes_without_receiver(*job, name); !told) return told;
  step.is_partial = true;
  for (const auto& [file, ranks] : ranks_of)
    if (Status once = step.add_known(ranks, file); !once) return once;
  step.add(job->matrix);
  return {};
}

}  // namespace

Result<CommMatrix> read_step_traffic(const std::vector<std::string>& files,
                                     const std::string& window, int ranks) {
  if (Status once = check_different_files(files); !once) return std::move(once).error();
  Step step;
  step.ranks = ranks;
  for (const std::string& file : files)
    if (Status added = add_file({file, window}, step); !added) return std::move(added).error();
  if (!step.whole.empty() && files.size() > 1)
    return Error(fmt::format(
        "'{}' is the profile of all ranks of a step; leave out the other files", step.whole));
  if (Status added = add_reports(step); !added) return std::move(added).error();
  for (int rank = 0; step.is_partial && rank < step.ranks; ++rank)
    if (!step.known.contains(rank))
      return Error(
          fmt::format("no file has what rank {} sent; give the profiles, or the reports, "
                      "of all nodes of the step",
                      rank));
  CommMatrix matrix = CommMatrix::from_entries(step.ranks, std::move(step.entries));
  if (const auto fits = number_of_ranks(matrix, ranks); !fits) return fits.error();
  return matrix;
}

}  // namespace ondeloc::cli
