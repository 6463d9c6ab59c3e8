// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "mapcore/apps/cli.h"
#include "mapcore/apps/overview.h"

namespace ondeloc::cli {

void add_algorithms(CLI::App& app, Job& job) {
  CLI::App* command = app.add_subcommand("algorithms", "list the mapping algorithms");
  command->footer(examples({"ondeloc algorithms"}));
  command->callback([&job] {
    job = []() -> Result<std::string> {
      std::string text;
      for (const AlgorithmInfo& info : algorithms()) {
        text += fmt::format("{}{}\n    {}\n    source: {}\n", info.name, info.argument,
                            info.summary, info.source);
      }
      return text;
    };
  });
}

}  // namespace ondeloc::cli
