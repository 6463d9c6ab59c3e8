// SPDX-License-Identifier: Apache-2.0
// The traffic that a command works on, from any file that holds traffic. Thread safety: for one
// thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "mapcore/apps/cli.h"
#include "mapcore/input/traffic_source.h"

namespace ondeloc::cli {

// The file of traffic, and the part of the run that counts.
struct TrafficOptions {
  std::string file;
  std::string window;  // "FROM:TO" after the first message; empty: the whole run
};

// FILE, also behind `names` ("-m,--matrix").
CLI::Option* add_traffic(CLI::App& command, TrafficOptions& options, const std::string& names);
CLI::Option* add_window(CLI::App& command, TrafficOptions& options);

// The sum matrix of all ranks. Losses of the recording are told on standard error.
Result<CommMatrix> source_matrix(TrafficSource& source, const TrafficOptions& options);

// The traffic of the ranks to map. If the file is of one node of several, these are the ranks of
// the node, numbered from 0.
struct Workload {
  NodePart part;
  CommMatrix matrix;
  std::vector<double> off_node;  // bytes of each rank to other nodes; empty: none known
  RankNames names;
  double seconds = 0;  // between the first and the last of the messages; 0: unknown
};
Result<Workload> read_workload(TrafficSource& source, const TrafficOptions& options);
// An error if --ranks (`wanted`, 0: not given) is to add ranks to those of one node of several.
Status check_ranks_of_part(const NodePart& part, int wanted, const std::string& file);
// CPUs per rank of the recorded run, or fewer if not so many fit here, which is told on standard
// error. 0: no CPUs are recorded, or one for each rank.
int recorded_cpus_per_task(const TrafficSource& source, const std::string& file,
                           const MachineChoice& choice, int ranks);
// The same traffic for each interval of `seconds`.
struct SeriesWorkload {
  NodePart part;
  std::vector<CommMatrix> matrices;
  std::vector<std::vector<double>> off_node;  // as in Workload; one for each matrix, or empty
  // The run ends with the last matrix, after this time. Empty: a text does not tell the end.
  std::optional<double> run_seconds = {};
};
Result<SeriesWorkload> read_series(TrafficSource& source, const std::string& file, double seconds);

}  // namespace ondeloc::cli
