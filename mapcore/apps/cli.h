// SPDX-License-Identifier: Apache-2.0
// What the subcommands of `ondeloc` share. Each cmd_*.cc adds one subcommand to the application and
// leaves its work in `job`, which main runs after parsing. Exit codes: 0 done, 1 the user's error
// (one sentence on standard error), 2 wrong usage.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <optional>
#include <string>

#include "mapcore/base/quantity.h"
#include "mapcore/map/algorithm.h"
#include "mapcore/map/mapping_io.h"
#include "mapcore/map/slots.h"

namespace ondeloc::cli {

// Gives the text for standard output.
using Job = std::function<Result<std::string>()>;

void add_map(CLI::App& app, Job& job);
void add_evaluate(CLI::App& app, Job& job);
void add_compare(CLI::App& app, Job& job);
void add_replay(CLI::App& app, Job& job);
void add_algorithms(CLI::App& app, Job& job);
void add_topology(CLI::App& app, Job& job);
void add_profile(CLI::App& app, Job& job);

// A number from `least` to `most`, and none that is not one (CLI::Range lets nan pass). `unit` is
// said in errors.
CLI::Validator finite(double least, double most, const std::string& unit = "");

// An option that is given and says nothing, such as --topology "$NODE" where NODE is not set, is
// not one that is left out.
CLI::Validator not_empty();

// --topology, --cpuset and the constants of the cost model.
struct MachineOptions {
  std::string topology = "host";
  std::string cpuset;
  CostOverrides overrides;
};
void add_machine_options(CLI::App& command, MachineOptions& options);

struct Place {
  Machine whole;
  CpuSet usable;    // allowed PUs, cut to --cpuset
  Machine machine;  // restricted to `usable`
  CostModel model;
};
Result<Place> load_place(const MachineOptions& options);

// How many ranks on how many CPUs each.
struct SlotOptions {
  int ranks = 0;          // at least; 0: those that the matrix mentions
  int cpus_per_task = 0;  // 0: not given, one
  bool oversubscribe = false;
  bool single_threads = false;  // one hardware thread a slot, not whole cores: for lama
};
void add_slot_options(CLI::App& command, SlotOptions& options);

void add_ranks_option(CLI::App& command, int& ranks);
// Those of the matrix, or the `wanted` ones. Errors: fewer wanted than the matrix has.
Result<int> number_of_ranks(const CommMatrix& matrix, int wanted);

// The slots that ranks may have, and where `previous` (a file; empty: none) puts them now.
struct Layout {
  Machine machine;  // restricted to the PUs of the slots
  SlotSet slots;
  CostModel model;
  Mapping previous;      // empty without a file
  const Machine* whole;  // of the place
  int ranks = 0;         // those of the matrix, and silent ones
  RankNames names = {};
  std::vector<double> off_node = {};  // bytes of each rank to other nodes; empty: none known
};
Result<Layout> plan_layout(const Place& place, const MachineOptions& machine,
                           const SlotOptions& options, const CommMatrix& matrix,
                           const std::string& previous);

// The ranks of a placement, each with the node that it counts on: the one where it has most CPUs;
// where all have the same CPUs, of several nodes, as if dealt evenly to them.
SlotSet slots_of(const Machine& machine, const RankCpus& placement);

struct TimedMapping {
  Mapping mapping;
  SlotSet slots;       // what each rank gets: its slot, or as much round it as lama:...,bind= says
  Cost cost;           // of `slots`
  int migrations = 0;  // from `previous`, 0 without one
  double seconds = 0;  // computing took
};
using Compute = std::function<Result<Mapping>(const MapRequest&)>;
// `spec`: the algorithm that `compute` runs.
Result<TimedMapping> timed_mapping(const std::string& spec, const Layout& layout,
                                   const Traffic& traffic, const Compute& compute);
Result<TimedMapping> run_algorithm(const std::string& spec, const Layout& layout,
                                   const Traffic& traffic);

// Error: one that is named and is none.
Status check_algorithm(const std::string& named);

// Such a mapping wants the slots of single hardware threads (SlotOptions::single_threads).
bool is_lama(const std::string& spec);

// --format and --output of a mapping.
struct OutputOptions {
  std::string format = "table";
  std::string output;     // empty: standard output
  bool relative = false;  // a rankfile counts inside the CPUs in use
};
void add_output_options(CLI::App& command, OutputOptions& options);
// Error: --relative with another format than a rankfile.
Status check_format(const OutputOptions& options);
// The text of a mapping, or "" when it went to the file.
Result<std::string> put_mapping(const OutputOptions& options, const std::string& algorithm,
                                const Place& place, const Layout& layout,
                                const TimedMapping& result);

// What a command reads, by name: empty where it is not given, "-" standard input.
using Inputs = std::initializer_list<std::string>;
// "elsewhere, please" where the output would replace one of the inputs or the topology's file; and
// standard input is given once.
Status check_files(const Inputs& inputs, const MachineOptions& machine, const std::string& output);
Status check_output(const std::string& input, const std::string& output);

std::string share_text(const std::optional<double>& share);  // "-" where there is no traffic

}  // namespace ondeloc::cli
