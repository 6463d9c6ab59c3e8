// SPDX-License-Identifier: Apache-2.0
// The report of one step on one node: what was seen, decided and done. Plain data; report_json.h
// writes it. Ranks are world ranks, CPUs and NUMA nodes are the kernel's numbers, costs are
// predictions of the cost model (map/cost.h) in seconds of memory and link time for the interval's
// traffic. Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "mapcore/base/cpu_set.h"

namespace ondeloc {

struct ReportRank {
  int rank = 0;
  int local = 0;
  int pid = 0;
  std::string initial_cpus;
  std::string final_cpus;
  int migrations = 0;
};

struct ReportCell {
  int src = 0;
  int dst = -1;  // -1: off the node
  std::uint64_t bytes = 0;
  std::uint64_t messages = 0;
};

struct ReportInterval {
  double t = 0;                   // seconds since the mapper started, end of the interval
  std::uint32_t interval_ms = 0;  // as it was when it began
  double bytes = 0;               // between different ranks of the node
  double messages = 0;
  double off_node_bytes = 0;
  std::uint64_t samples = 0;  // SAMPLE events that came in it
  double sample_bytes = 0;    // what they said was sent to other ranks of the node
  std::optional<double> remote_share_before, remote_share_after;
  double peak_load_before = 0, peak_load_after = 0;
  double cost_before = 0, cost_after = 0;
  bool remapped = false;
  std::vector<int> moved;  // world ranks whose CPUs changed
  double compute_us = 0;   // snapshot, mapping and decision, without applying
};

struct ReportEvents {
  std::uint64_t attach = 0, sample = 0, row = 0, detach = 0, dropped = 0;
};

struct Report {
  std::uint32_t job = 0, step = 0;
  std::string node, mode, algorithm;
  std::vector<std::pair<std::string, std::string>> options;  // key, value as text
  std::vector<std::pair<int, std::string>> numa;             // kernel's node number, PUs
  std::string cpus;
  std::vector<ReportRank> ranks;
  std::vector<ReportCell> matrix;
  std::vector<ReportCell> off_node;
  std::vector<ReportInterval> intervals;
  ReportEvents events;
  int remaps = 0, migrations = 0;
  double mapper_cpu_ms = 0, wall_ms = 0;
  std::vector<std::string> notes;
};

}  // namespace ondeloc
