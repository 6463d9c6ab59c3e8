// SPDX-License-Identifier: Apache-2.0
// Reads the reports of a directory that every user of a site may write to. No file in it is
// trusted: links, pipes and devices are not opened for reading, sizes and numbers are bounded, and
// a file that is not a report is counted and named with one sentence. The directory is opened once,
// and its files relative to it. Thread safety: one thread.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <set>
#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/site/site_report.h"

namespace ondeloc {

inline constexpr std::size_t kMostSiteReportBytes = std::size_t{32} << 20;
inline constexpr std::size_t kMostNamedFaults = 100;
inline constexpr std::size_t kMostReportsOfJob = 100;

struct SiteFiles {
  std::vector<SiteReport> reports;  // one for each user, job, restart, step and node: the last
  std::size_t older = 0;            // files that were last written before `since`
  std::size_t skipped = 0;          // files that are not reports, or cannot be read
  std::vector<std::string> faults;  // why, of the first kMostNamedFaults; each names its file
};

// Error: the directory cannot be read.
Result<SiteFiles> read_site_directory(const std::string& path, std::time_t since);

struct JobOfUser {
  std::uint32_t job = 0;
  uid_t user = 0;
};

struct JobVerdicts {
  std::set<std::string> verdicts;
  std::size_t left_out = 0;  // files behind the first reports that have the name of such a report
};

// The verdicts of the first kMostReportsOfJob reports of a job, each once. Only files count that
// have the name of such a report and belong to the user, and whose report is of this job: any user
// may write a file with that name. Other files are passed over. Error: the directory cannot be
// read.
Result<JobVerdicts> verdicts_of_job(const std::string& path, const JobOfUser& job);

}  // namespace ondeloc
