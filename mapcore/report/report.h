// SPDX-License-Identifier: Apache-2.0
// The report of one step on one node: measurements, decisions and moves. Plain data; report_json.h
// writes it. Ranks are world ranks, CPUs and NUMA nodes are the kernel's numbers, costs are
// predictions of the cost model (map/cost.h) in seconds of memory and link time for the interval's
// traffic. Thread safety: values.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mapcore/base/cpu_set.h"

namespace ondeloc {

// The part of a rank's own pages that is on a NUMA node (kernel's number).
struct ReportPages {
  int node = -1;
  double share = 0;
};

// Two threads of a rank, numbered as in thread_cpus, and the sampled page faults that they share
// (map/page_sharing.h), newer ones with more weight.
struct ReportSharing {
  int first = 0, second = 0;
  double faults = 0;
};

struct ReportRank {
  int rank = 0;
  int local = 0;
  int pid = 0;
  int threads = 0;  // 0: unknown
  std::string initial_cpus;
  std::string start_cpus;
  std::string final_cpus;
  int migrations = 0;
  std::vector<std::string> thread_cpus;       // of each thread that threads=cores or sample bound
  std::uint64_t thread_faults = 0;            // sampled page faults of these threads
  std::vector<ReportSharing> thread_sharing;  // the pairs that share most first
  std::vector<ReportPages> page_nodes;        // at the last look; empty: unknown
  std::optional<double> far_pages;            // binding/page_sample.h
  std::vector<std::string> gpus;  // that it uses, or may use if `gpu_source` cannot tell
  std::string gpu_source;         // devices/gpu_use.h; empty: it uses no GPU
  // Its CPUs are near its GPUs. Empty: it uses none, or the GPUs or their places are not known.
  std::optional<bool> gpus_near_at_start, gpus_near_at_end;
  std::string nic;  // what nic= has set, and why; empty without nic=
};

struct ReportDevice {
  std::string name, kind, pci;
  int node = -1;     // kernel's NUMA node; -1: unknown, or several
  std::string near;  // CPUs; empty: unknown
};

// Bytes that left the node through a network adapter, from ranks near it and from others.
struct ReportAdapter {
  std::string name;
  std::uint64_t near_bytes = 0, far_bytes = 0;
};

struct ReportCell {
  int src = 0;
  int dst = -1;  // -1: off the node
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
};

// Traffic between ranks whose smallest common domain this is (map/cost.h), before and after a
// change of the mapping.
struct ReportDomain {
  std::string domain;  // "core", "l2", "llc", "node", "package", "machine"
  double bytes_before = 0, bytes_after = 0;
  double messages_before = 0, messages_after = 0;
};

struct ReportNuma {
  int os = -1;  // kernel's node number
  std::string pus;
  int package = -1;
};

// A last-level cache, or the NUMA node that stands for one.
struct ReportCache {
  int numa = -1;  // kernel's node number
  std::string pus;
  std::uint64_t bytes = 0;  // its size; 0: unknown, or no cache
};

struct ReportInterval {
  double t = 0;                   // seconds since the mapper started, end of the interval
  std::uint32_t interval_ms = 0;  // as it was when it began
  // Intervals that this line stands for: more than 1 in a long run (mapper/interval_log.h).
  std::size_t count = 1;
  double bytes = 0;  // between different ranks of the node
  double messages = 0;
  double off_node_bytes = 0;
  std::uint64_t samples = 0;  // SAMPLE events that came in it
  double sample_bytes = 0;    // what they said was sent to other ranks of the node
  std::optional<double> remote_share_before, remote_share_after;
  double peak_load_before = 0, peak_load_after = 0;
  double cost_before = 0, cost_after = 0;
  std::vector<ReportDomain> domains;  // without those that have no traffic
  bool remapped = false;
  std::vector<int> moved;             // world ranks whose CPUs changed
  std::vector<std::string> moved_to;  // their new CPUs, in the same order
  double read_us = 0;                 // reading the counters
  double compute_us = 0;              // mapping and decision; neither reading counters nor applying
  // The decision after the interval and its numbers (mapcore/decide/decider.h), predicted seconds
  // for the interval's traffic; horizon: seconds of wall time.
  std::string decision;
  double gain = 0, threshold = 0, migration = 0, horizon = 0, ledger = 0;
};

struct ReportEvents {
  std::uint64_t attach = 0, sample = 0, row = 0, detach = 0, dropped = 0;
};

// Energy of the whole node, from the first task's start to the last one's end. No number: why_...
// says why.
struct ReportEnergy {
  double seconds = 0;  // between the two readings; 0: there were none
  std::optional<double> package_joules, dram_joules;
  std::string why_no_package = "slurmstepd had not reported it before the mapper ended",
              why_no_dram = why_no_package;
};

// Traffic of the memory controllers of the whole node while the mapper ran. No number: `why`.
struct ReportMemory {
  std::optional<double> local_bytes, total_bytes;
  std::optional<double> remote_share;  // 1 - local / total
  std::string why;
};

// Cache misses of the ranks, and bytes that the memory controllers of the whole node read and
// wrote, by perf events while the mapper ran. No number: why_... says why.
struct ReportCounters {
  std::optional<double> cache_misses, read_bytes, written_bytes;
  std::string why_no_misses, why_no_bytes;  // empty, too, if the user did not ask
};

struct Report {
  std::uint32_t job = 0, step = 0;
  std::string node, mode, algorithm;
  std::vector<std::pair<std::string, std::string>> options;  // key, value as text
  std::vector<std::pair<std::string, std::string>> origin;   // program, user, versions
  std::vector<ReportNuma> numa;
  std::vector<std::string> cores;  // PUs of each core
  std::vector<ReportCache> caches;
  std::vector<std::pair<std::string, std::string>> model;  // kind of constant, its source
  std::string cpus;
  std::vector<ReportDevice> devices;  // network adapters, then GPUs, of the whole node
  std::vector<ReportRank> ranks;
  std::vector<ReportCell> matrix;
  std::vector<ReportCell> off_node;
  std::vector<ReportCell> off_node_matrix;  // the part of it that is known by receiver
  std::vector<ReportAdapter> adapters;
  std::vector<ReportCell> modelled;  // the part of both that a model of collectives has added
  std::vector<ReportInterval> intervals;
  ReportEvents events;
  ReportEnergy energy;
  ReportMemory memory;
  ReportCounters counters;
  // The sum over all intervals: before = under the mapping at the start, after = under the mapping
  // in force.
  std::vector<ReportDomain> domains;
  std::optional<double> remote_share_before, remote_share_after;
  int remaps = 0, migrations = 0;
  double mapper_cpu_ms = 0, wall_ms = 0;
  bool is_complete = true;  // false: the step was still running
  std::vector<std::string> notes;
};

// The note of a report without counts where no process had ondeloc's library. Without this note
// ondeloc left the processes alone, and another note tells why.
inline constexpr const char* kNobodyCalled =
    "no process called MPI_Init with ondeloc's library: nothing was counted or moved";
inline bool tells_nobody_called(const std::vector<std::string>& notes) {
  return std::find(notes.begin(), notes.end(), kNobodyCalled) != notes.end();
}

}  // namespace ondeloc
