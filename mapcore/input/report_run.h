// SPDX-License-Identifier: Apache-2.0
// The story of an online run from its report: intervals, decisions, and where each rank ran. The
// JSON is not trusted: it is bounded, and every field is checked. Errors: one sentence with the
// name. Thread safety: pure function.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/decide/levels.h"
#include "mapcore/decide/verdict.h"

namespace ondeloc {

struct ReportedRank {
  int rank = 0;
  std::string first_cpus, last_cpus;  // as the report has them, without control characters
  int migrations = 0;
  std::string gpus = {};  // a phrase on its GPUs and their places; empty: it used none
};

struct ReportedCell {
  int src = 0, dst = 0;
  double bytes = 0, messages = 0;
};

struct ReportedNuma {
  int os = 0;  // kernel's number
  std::string cpus;
  int package = -1;  // -1: unknown
};

struct ReportedCache {
  int numa = -1;
  std::string cpus;
  double bytes = 0;  // 0: unknown, or the NUMA node stands for a cache
};

struct ReportedDevice {
  std::string name, kind, pci;  // "mlx5_0", "InfiniBand adapter", "0000:3b:00.0"
  int node = -1;                // kernel's number of its NUMA node; -1: unknown, or several
  std::string near;             // CPUs; empty: unknown
};

// Bytes to other nodes that ranks sent through a network adapter: those near it, and others.
struct ReportedAdapter {
  std::string name;
  double near_bytes = 0, far_bytes = 0;
};

// Use of the whole node while the step ran. No number: unknown, with a sentence that says why.
struct ReportedUse {
  std::optional<double> package_joules, dram_joules;
  double seconds = 0;  // of the energy
  std::optional<double> memory_bytes, remote_share;
  std::string why_no_package, why_no_dram, why_no_memory;  // empty: older reports do not tell
  // By perf events. why_...: empty, too, if the user did not ask for counters.
  std::optional<double> cache_misses, read_bytes, written_bytes;
  std::string why_no_misses, why_no_bytes;
};

struct ReportRun {
  std::string node, mode, algorithm;
  std::uint64_t job = 0, restarts = 0, step = 0;  // restarts: of a requeued job
  std::string program;  // of the first rank, without its folder; empty: unknown
  std::vector<std::pair<std::string, std::string>> origin;  // program, user, versions, ...
  std::vector<ReportedNuma> numa;
  std::vector<ReportedCache> caches;
  std::vector<std::string> cores;       // CPUs of each; empty: unknown
  std::vector<ReportedDevice> devices;  // network adapters and GPUs
  std::vector<ReportedAdapter> adapters;
  std::vector<ReportedRank> ranks;
  std::vector<ReportedCell> matrix;  // between ranks of the node
  TrafficChange levels;              // of the whole run: at the start, as the ranks moved
  std::vector<std::pair<std::string, std::string>> model;  // kind of constant, its source
  Run run;
  double mapper_cpu_ms = 0, wall_ms = 0;
  std::uint64_t dropped = 0;  // events
  ReportedUse use;
  bool complete = true;      // false: the step was still running
  std::size_t attached = 0;  // ranks that called MPI_Init with ondeloc's library
  std::vector<std::string> notes;

  std::int64_t migrations() const;  // of all ranks
};

// "job 12 step 0 on n1". A run outside Slurm has no job, and `without_job` stands for it; a name of
// a node may be missing.
std::string step_name(std::uint64_t job, std::uint64_t step, const std::string& node,
                      const std::string& without_job = "run");

// ", restart 2" of a requeued job; empty otherwise.
std::string restart_text(const ReportRun& run);
// "job 12 step 0 on n1, restart 2".
std::string run_name(const ReportRun& run, const std::string& without_job = "run");

// A line for each adapter.
std::string adapters_text(const std::vector<ReportedAdapter>& adapters);

// Lines on the energy, the memory traffic and the counters of the node; none for an older report.
std::string use_text(const ReportedUse& use);

// A mapper writes far fewer (mapper/interval_log.h). A file of brackets alone would fill the
// memory.
inline constexpr std::size_t kMostReportedIntervals = 1'000'000;

// kSums: without the matrix, the topology and the model, which are most of a large report, unless
// the intervals have no traffic. Thousands of reports are read faster so.
enum class ReportParts { kWhole, kSums };
Result<ReportRun> parse_report_run(std::string_view text, const std::string& name,
                                   ReportParts parts = ReportParts::kWhole);
// The nodes of the report of a job (profile/job_report.h).
Result<std::vector<ReportRun>> parse_job_report_runs(std::string_view text,
                                                     const std::string& name);

}  // namespace ondeloc
