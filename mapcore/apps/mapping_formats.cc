// SPDX-License-Identifier: Apache-2.0
// The formats in which `ondeloc map` writes a mapping: one table, from which the
// help, the check of the option and the completions follow.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "mapcore/apps/cli.h"
#include "mapcore/base/new_file.h"
#include "mapcore/map/thread_texts.h"

namespace ondeloc::cli {
namespace {

struct MappingToWrite {
  const OutputOptions& options;
  const MachineChoice& choice;
  const Layout& layout;
  const MappingReport& report;
  const RankCpus& placement;
};

struct MappingFormat {
  const char* name;
  const char* reader;  // who reads the format; "" : people
  Result<std::string> (*write)(const MappingToWrite&);
};

const MappingFormat kMappingFormats[] = {
    {"table", "",
     [](const MappingToWrite& m) -> Result<std::string> {
       return to_table(m.layout.machine, m.placement, m.report, m.layout.names);
     }},
    {"json", "",
     [](const MappingToWrite& m) -> Result<std::string> {
       return to_json(m.layout.machine, m.placement, m.report, m.layout.names);
     }},
    {"rankfile", "mpirun, --ondeloc=static:",
     [](const MappingToWrite& m) {
       const bool relative = m.options.relative;
       return to_rankfile(relative ? m.choice.machine : m.choice.whole, m.choice.usable,
                          m.placement, m.layout.names, relative);
     }},
    {"cpu-bind", "srun",
     [](const MappingToWrite& m) -> Result<std::string> { return to_cpu_bind(m.placement); }},
    {"omp-places", "OMP_PLACES",
     [](const MappingToWrite& m) -> Result<std::string> { return to_omp_places(m.placement); }},
    {"gomp", "GOMP_CPU_AFFINITY",
     [](const MappingToWrite& m) { return to_gomp_affinity(m.placement); }},
    {"likwid", "likwid-pin -c", [](const MappingToWrite& m) { return to_likwid_pin(m.placement); }},
    {"taskset", "taskset -c",
     [](const MappingToWrite& m) -> Result<std::string> { return to_taskset(m.placement); }},
};

std::vector<std::string> mapping_formats() {
  std::vector<std::string> names;
  for (const MappingFormat& format : kMappingFormats) names.emplace_back(format.name);
  return names;
}

std::string mapping_format_help() {
  std::string text;
  for (const MappingFormat& format : kMappingFormats) {
    text += format.name;
    if (*format.reader != 0) text += fmt::format(" ({})", format.reader);
    text += ", ";
  }
  text.resize(text.size() - 2);
  return text + " (default: table)";
}

}  // namespace

void add_output_options(CLI::App& command, OutputOptions& options) {
  command.add_option("-f,--format", options.format, mapping_format_help())
      ->check(CLI::IsMember(mapping_formats()));
  command.add_flag("--relative", options.relative,
                   "a rankfile counts cores inside the CPUs in use (--cpuset, the cgroup), as "
                   "mpirun in a part of a node and --ondeloc=static:FILE,relative do");
  command
      .add_option("-o,--output", options.output, "write to this file (default: -, standard output)")
      ->check(not_empty());
}

Status check_format(const OutputOptions& options) {
  if (!options.relative || options.format == "rankfile") return {};
  return Error("--relative goes with --format rankfile only");
}

namespace {

Result<std::string> mapping_text(const OutputOptions& options, const std::string& algorithm,
                                 const MachineChoice& choice, const Layout& layout,
                                 const TimedMapping& result) {
  RankCpus placement;
  for (const Slot& slot : result.slots) placement.push_back(slot.pus);
  const MappingReport report{algorithm, result.cost, result.migrations, result.seconds};
  const auto* format = std::find_if(std::begin(kMappingFormats), std::end(kMappingFormats),
                                    [&](const auto& one) { return options.format == one.name; });
  return format->write({options, choice, layout, report, placement});
}

}  // namespace

Result<std::string> put_mapping(const OutputOptions& options, const std::string& algorithm,
                                const MachineChoice& choice, const Layout& layout,
                                const TimedMapping& result) {
  auto text = mapping_text(options, algorithm, choice, layout, result);
  if (!text || options.output.empty()) return text;
  if (Status written = write_new_file(options.output, *text); !written)
    return std::move(written).error();
  return std::string();
}

}  // namespace ondeloc::cli
