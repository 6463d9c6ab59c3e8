// SPDX-License-Identifier: Apache-2.0
// One report of a directory of reports, and the steps that the reports of all nodes make up. Times
// of messages and savings are predictions of the cost model. Thread safety: pure functions.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/input/report_run.h"

namespace ondeloc {

// The fate of a step on a node. Of a step on several nodes the highest value counts.
enum class StepFate {
  kSilent,      // the ranks of the node sent each other nothing
  kShort,       // it ended before a decision was due
  kNoStake,     // its messages take too little time for a mapping to matter
  kStayed,      // no better mapping was found, or a rule forbade the move
  kMissed,      // a better mapping was found and not applied
  kMoved,       // ranks were moved
  kUncounted,   // no process called MPI_Init with ondeloc's library, or ondeloc left it alone
  kUnfinished,  // the report is preliminary: the step runs, or it was killed with its mapper
};
struct FateRow {
  StepFate fate;
  std::string_view name, meaning;
};
std::span<const FateRow> step_fates();  // in the order of the values
std::string_view name_of(StepFate fate);

struct SiteSums {
  double reports = 0;  // nodes of steps
  double ranks = 0;
  double seconds = 0;                          // of the nodes, summed: the life of the mappers
  double mapper_cpu = 0;                       // seconds
  double at_stake = 0, saved = 0, missed = 0;  // seconds, predicted
  double bytes = 0, off_node_bytes = 0;
  double remaps = 0, migrations = 0;
  double dropped = 0;  // events
  // Energy of the nodes while the steps ran on them: steps that share a node all count it.
  double energy_reports = 0;  // that tell the energy of the packages
  double package_joules = 0, dram_joules = 0;
  double counter_reports = 0;  // that tell cache misses
  double cache_misses = 0;

  SiteSums& operator+=(const SiteSums& other);
};

// A number that the account, Prometheus and Influx show, under one name.
struct SiteMetric {
  std::string_view name, help;
  double SiteSums::*field;
};
std::span<const SiteMetric> site_metrics();

struct SiteReport {
  std::uint64_t job = 0, restarts = 0, step = 0;  // restarts: of a requeued job
  std::string node, program, partition;           // printable; empty: unknown
  uid_t user = 0;
  std::time_t written = 0;
  StepFate fate = StepFate::kSilent;
  SiteSums sums;
};

// `owner` and `written` are those of the file. A user can write any report, but cannot give a file
// away: the owner counts as the user. A file of root was copied by the site, and the report says
// whose it is.
SiteReport site_report_of(const ReportRun& run, uid_t owner, std::time_t written);

struct SiteStep {
  std::uint64_t job = 0, restarts = 0, step = 0;
  std::string program, partition;
  uid_t user = 0;
  std::time_t written = 0;  // the last report
  StepFate fate = StepFate::kSilent;
  SiteSums sums;
};
// Steps in the order of job, restarts, step and user. Program and partition are those of the first
// node.
std::vector<SiteStep> steps_of(std::vector<SiteReport> reports);

}  // namespace ondeloc
