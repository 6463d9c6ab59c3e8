// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/report_levels.h"

namespace ondeloc {

std::vector<ReportDomain> report_domains(const TrafficChange& change) {
  std::vector<ReportDomain> domains;
  for (const Domain domain : used_domains(change)) {
    const auto d = static_cast<std::size_t>(domain);
    domains.push_back({domain_key(domain), change.before.bytes[d], change.after.bytes[d],
                       change.before.messages[d], change.after.messages[d]});
  }
  return domains;
}

TrafficChange change_of(const std::vector<ReportDomain>& domains) {
  TrafficChange change;
  for (const ReportDomain& line : domains) {
    const auto domain = domain_of(line.domain);
    if (!domain) continue;
    const auto d = static_cast<std::size_t>(*domain);
    change.before.bytes[d] = line.bytes_before;
    change.after.bytes[d] = line.bytes_after;
    change.before.messages[d] = line.messages_before;
    change.after.messages[d] = line.messages_after;
  }
  return change;
}

}  // namespace ondeloc
