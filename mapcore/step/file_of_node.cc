// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/file_of_node.h"

#include "mapcore/report/report_json.h"

namespace ondeloc {

std::string file_of_node(const std::string& pattern, const ondeloc_header& header,
                         const std::string& node) {
  const auto named = [&](std::string_view name) {
    return expand_pattern(pattern, header.job_id, header.step_id, name);
  };
  const std::string path = named(node);
  const bool names_node = path != named("");
  return header.world_ranks > header.local_ranks && !names_node ? path + "." + node : path;
}

}  // namespace ondeloc
