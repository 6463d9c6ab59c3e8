// SPDX-License-Identifier: Apache-2.0
// The traffic of each domain as JSON. Thread safety: pure function.
#pragma once

#include <nlohmann/json.hpp>

#include "mapcore/map/cost.h"

namespace ondeloc::cli {

inline nlohmann::ordered_json domains_json(const DomainTraffic& traffic) {
  nlohmann::ordered_json json;
  for (int d = 0; d < kDomainCount; ++d)
    json[domain_key(static_cast<Domain>(d))] = {{"bytes", traffic.bytes[d]},
                                                {"messages", traffic.messages[d]}};
  return json;
}

}  // namespace ondeloc::cli
