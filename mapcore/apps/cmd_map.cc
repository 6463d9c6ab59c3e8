// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "mapcore/apps/cli.h"
#include "mapcore/comm/matrix_io.h"
#include "mapcore/map/lama.h"

namespace ondeloc::cli {
namespace {

struct MapOptions {
  MachineOptions machine;
  SlotOptions slots;
  std::string matrix;
  std::string algorithm = "coordinated";
  std::string previous;
  std::string format = "table";
  std::string output;
};

bool is_lama(const std::string& spec) { return split_algorithm(spec).name == "lama"; }

// lama:...,bind= says how much round its thread a rank gets.
Placement bound(const MapOptions& options, const Place& place, Placement placement) {
  if (!is_lama(options.algorithm)) return placement;
  const auto layout = parse_lama(split_algorithm(options.algorithm).argument);
  if (!layout || !layout->has_bind) return placement;
  for (CpuSet& pus : placement) pus = lama_binding(place.machine, layout->bind, PuOs(pus.first()));
  return placement;
}

Result<std::string> to_text(const MapOptions& options, const Place& place, const Layout& layout,
                            const TimedMapping& result) {
  const Placement placement = bound(options, place, placement_of(layout.slots, result.mapping));
  const MappingReport report{options.algorithm, result.cost, result.migrations, result.seconds};
  if (options.format == "rankfile") return to_rankfile(place.whole, place.usable, placement);
  if (options.format == "cpu-bind") return to_cpu_bind(placement);
  if (options.format == "json") return to_json(layout.machine, placement, report);
  return to_table(layout.machine, placement, report);
}

Result<std::string> run_map(const MapOptions& options) {
  if (auto known = find_algorithm(options.algorithm); !known) return std::move(known).error();
  const auto place = load_place(options.machine);
  if (!place) return place.error();
  const auto matrix = read_matrix(options.matrix);
  if (!matrix) return matrix.error();
  SlotOptions slots = options.slots;
  slots.single_threads = is_lama(options.algorithm);
  const auto layout = plan_layout(*place, options.machine, slots, matrix->ranks, options.previous);
  if (!layout) return layout.error();
  const auto result = run_algorithm(options.algorithm, *layout, Traffic(*matrix));
  if (!result) return result.error();
  auto text = to_text(options, *place, *layout, *result);
  if (!text || options.output.empty()) return text;
  if (Status written = write_file(options.output, *text); !written)
    return std::move(written).error();
  return std::string();
}

}  // namespace

void add_map(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand("map", "compute where each rank should run");
  auto options = std::make_shared<MapOptions>();
  add_machine_options(*command, options->machine);
  add_slot_options(*command, options->slots);
  command
      ->add_option("-m,--matrix", options->matrix,
                   "communication matrix, .mat or CSV (src,dst,bytes); - reads standard input")
      ->required();
  command->add_option("-a,--algorithm", options->algorithm,
                      "see 'ondeloc algorithms' (default: coordinated)");
  command->add_option("-p,--previous", options->previous,
                      "the present mapping, our JSON or a rankfile: its CPUs are the slots, and "
                      "nobody moves for nothing");
  command
      ->add_option("-f,--format", options->format,
                   "table, json, rankfile (mpirun, --ondeloc=static:), or cpu-bind (srun) "
                   "(default: table)")
      ->check(CLI::IsMember({"table", "json", "rankfile", "cpu-bind"}));
  command->add_option("-o,--output", options->output, "write to this file");
  command->footer(
      "Examples:\n"
      "  ondeloc map --topology host --matrix bytes.mat\n"
      "  ondeloc map -t node.xml --cpuset 0-15 -m bytes.mat -f rankfile -o ranks.txt\n"
      "  srun --cpu-bind=$(ondeloc map -m bytes.mat -f cpu-bind) ./app");
  command->callback([options, &job] { job = [options] { return run_map(*options); }; });
}

}  // namespace ondeloc::cli
