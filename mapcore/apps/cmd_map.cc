// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "mapcore/apps/cli.h"
#include "mapcore/comm/matrix_io.h"

namespace ondeloc::cli {
namespace {

struct MapOptions {
  MachineOptions machine;
  SlotOptions slots;
  std::string matrix;
  std::string algorithm;  // empty: offline_algorithm()
  std::string previous;
  OutputOptions output;
};

Result<std::string> run_map(const MapOptions& options) {
  if (Status known = check_algorithm(options.algorithm); !known) return std::move(known).error();
  if (Status good =
          check_files({options.matrix, options.previous}, options.machine, options.output.output);
      !good)
    return std::move(good).error();
  if (Status good = check_format(options.output); !good) return std::move(good).error();
  const auto place = load_place(options.machine);
  if (!place) return place.error();
  auto matrix = read_matrix(options.matrix);
  if (!matrix) return matrix.error();
  SlotOptions slots = options.slots;
  slots.single_threads = is_lama(options.algorithm);
  const auto layout = plan_layout(*place, options.machine, slots, *matrix, options.previous);
  if (!layout) return layout.error();
  matrix->ranks = layout->ranks;
  const std::string algorithm = offline_algorithm(options.algorithm, layout->ranks);
  const auto result = run_algorithm(algorithm, *layout, Traffic(*matrix));
  if (!result) return result.error();
  return put_mapping(options.output, algorithm, *place, *layout, *result);
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
  command
      ->add_option("-a,--algorithm", options->algorithm,
                   fmt::format("see 'ondeloc algorithms' (default: {}, which searches longer "
                               "than coordinated does while a job runs; coordinated from {} "
                               "ranks on)",
                               kOfflineAlgorithm, kMostOfflineRanks + 1))
      ->check(not_empty());
  command
      ->add_option("-p,--previous", options->previous,
                   "the present mapping, our JSON or a rankfile: its CPUs and idle "
                   "ones are the slots, and coordinated moves nobody for nothing")
      ->check(not_empty());
  add_output_options(*command, options->output);
  command->footer(
      "Examples:\n"
      "  ondeloc map --topology host --matrix bytes.mat\n"
      "  ondeloc map -t node.xml --cpuset 0-15 -m bytes.mat -f rankfile -o ranks.txt\n"
      "  srun --cpu-bind=$(ondeloc map -m bytes.mat -f cpu-bind) ./app");
  command->callback([options, &job] { job = [options] { return run_map(*options); }; });
}

}  // namespace ondeloc::cli
