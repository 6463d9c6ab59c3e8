// SPDX-License-Identifier: Apache-2.0
// Shared by the subcommands of `ondeloc`. Each cmd_*.cc adds one subcommand to the application and
// leaves its work in `job`, which main runs after parsing. Exit codes: 0 done, 1 the user's error
// (one sentence on standard error), 2 wrong usage.
#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <span>
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
void add_place(CLI::App& app, Job& job);
void add_replay(CLI::App& app, Job& job);
void add_algorithms(CLI::App& app, Job& job);
void add_topology(CLI::App& app, Job& job);
void add_measure(CLI::App& app, Job& job);
void add_heatmap(CLI::App& app, Job& job);
void add_explain(CLI::App& app, Job& job);
void add_report(CLI::App& app, Job& job);
void add_top(CLI::App& app, Job& job);
void add_profile(CLI::App& app, Job& job);
void add_site(CLI::App& app, Job& job);
void add_threads(CLI::App& app, Job& job);

// A number from `least` to `most` (CLI::Range lets nan pass).
CLI::Validator finite(double least, double most);

// Reads an amount, a bandwidth or a time with its unit, from `least` to `most`. For transform().
CLI::Validator quantity(Quantity kind, double least, double most);
// An option of that kind, with its range; bytes, bytes per second or seconds.
template <class Number>
CLI::Option* add_quantity(CLI::App& command, const std::string& names, Number& number,
                          Quantity kind, double least, double most, const std::string& help) {
  return command.add_option(names, number, help)
      ->transform(quantity(kind, least, most))
      ->type_name(kind == Quantity::kSeconds ? "TIME"
                  : kind == Quantity::kBytes ? "BYTES"
                                             : "BYTES/s");
}

// Refuses an empty value, such as --topology "$NODE" if NODE is not set: it is not the same as an
// option that is left out.
CLI::Validator not_empty();

// --topology, --cpuset and the constants of the cost model.
struct MachineOptions {
  std::string topology = "host";
  std::string cpuset;
  std::string measured;  // the file of `ondeloc measure`; empty: none
  CostOverrides overrides;
  std::string devices = {};  // "off", or another source of devices; empty: those of the topology
};
void add_machine_options(CLI::App& command, MachineOptions& options);

struct MachineChoice {
  Machine whole;
  CpuSet usable;    // allowed PUs, cut to --cpuset
  Machine machine;  // restricted to `usable`
  CostModel model;
  std::shared_ptr<const MachineFile> measured = {};
  CostOverrides overrides = {};  // with `measured`
};
Result<MachineChoice> load_machine_choice(const MachineOptions& options);
// "predicted with numbers measured 2026-11-24 on NAME", or empty.
std::string measured_text(const MachineChoice& choice);

// The number of ranks, and of CPUs for each.
struct SlotOptions {
  int ranks = 0;          // at least; 0: those that the matrix mentions
  int cpus_per_task = 0;  // 0: not given, one
  bool oversubscribe = false;
  bool has_oversubscribe = false;     // the command has this option, so that advice may name it
  bool single_threads = false;        // one hardware thread a slot, not whole cores: for lama
  bool spread = false, pack = false;  // neither: spread if there are several nodes or caches
};
// -c,--cpus-per-task, with its default: kOneCpu, or kRecordedCpus if the command asks
// recorded_cpus_per_task().
inline constexpr const char* kOneCpu = "1, or a whole core while there are enough";
inline constexpr const char* kRecordedCpus =
    "as many as in the recorded run, or as many of these as fit; if no run is recorded 1, or a "
    "whole core while there are enough";
void add_cpus_option(CLI::App& command, int& cpus_per_task, const char* usual);
void add_slot_options(CLI::App& command, SlotOptions& options, const char* usual_cpus);
// The present mapping decides the slots, so --spread and --pack are refused beside it.
// REQUIRES: add_slot_options().
void add_previous_option(CLI::App& command, const std::string& names, std::string& file,
                         const std::string& help);

void add_ranks_option(CLI::App& command, int& ranks);
// The ranks of the matrix, or `wanted` ones. Error: fewer are wanted than the matrix has.
Result<int> number_of_ranks(const CommMatrix& matrix, int wanted);
// The ranks that a mapping must place: `world`, which are those of a node, or, if that is empty,
// as many as number_of_ranks() says.
PlacedRanks ranks_to_place(const CommMatrix& matrix, int wanted, const std::vector<int>& world);

// The slots that ranks may have, and where `previous` (a file; empty: none) puts them now.
struct Layout {
  Machine machine;  // restricted to the PUs of the slots
  SlotSet slots;
  CostModel model;
  Mapping previous;      // empty without a file
  const Machine* whole;  // of the choice
  int ranks = 0;         // those of the matrix, and silent ones
  RankNames names = {};
  std::vector<double> off_node = {};  // bytes of each rank to other nodes; empty: none known
};
// `world`: the numbers in `previous` of the ranks of the matrix; empty: rank i is i.
Result<Layout> plan_layout(const MachineChoice& choice, const MachineOptions& machine,
                           const SlotOptions& options, const CommMatrix& matrix,
                           const std::string& previous, const std::vector<int>& world = {});

// The ranks of a placement, each with the node that it counts on: the node where it has most CPUs.
// If all ranks have the same CPUs of several nodes, they count as dealt evenly to the nodes.
SlotSet slots_of(const Machine& machine, const RankCpus& placement);

struct TimedMapping {
  Mapping mapping;
  SlotSet slots;  // the CPUs of each rank: its slot, or as many round it as lama:...,bind= says
  Cost cost;      // of `slots`
  int migrations = 0;  // from `previous`, 0 without one
  double seconds = 0;  // that the computation took
};
using Compute = std::function<Result<Mapping>(const MapRequest&)>;
// `spec`: the algorithm that `compute` runs.
Result<TimedMapping> timed_mapping(const std::string& spec, const Layout& layout,
                                   const Traffic& traffic, const Compute& compute);
Result<TimedMapping> run_algorithm(const std::string& spec, const Layout& layout,
                                   const Traffic& traffic);

// Error: an algorithm is named that does not exist.
Status check_algorithm(const std::string& named);

// lama needs slots of single hardware threads (SlotOptions::single_threads).
bool is_lama(const std::string& spec);
// Error: ranks of several CPUs are wanted, which lama takes from its layout only.
Status check_lama_width(int cpus_per_task);

// --format and --output of a mapping.
struct OutputOptions {
  std::string format = "table";
  std::string output;     // empty: standard output
  bool relative = false;  // a rankfile counts inside the CPUs in use
};
void add_output_options(CLI::App& command, OutputOptions& options);
// Error: --relative with another format than a rankfile.
Status check_format(const OutputOptions& options);
// The text of a mapping, or "" if it went to the file.
Result<std::string> put_mapping(const OutputOptions& options, const std::string& algorithm,
                                const MachineChoice& choice, const Layout& layout,
                                const TimedMapping& result);

// The files that a command reads, by name: empty if one is not given, "-" for standard input.
using Inputs = std::initializer_list<std::string>;
// Errors: the output would replace one of the inputs or the file of the topology; standard input is
// given twice.
Status check_files(const Inputs& inputs, const MachineOptions& machine, const std::string& output);
Status check_read_once(std::span<const std::string> inputs);  // only the last of these errors
Status check_output(const std::string& input, const std::string& output);

std::string share_text(const std::optional<double>& share);  // "-" if there is no traffic

}  // namespace ondeloc::cli
