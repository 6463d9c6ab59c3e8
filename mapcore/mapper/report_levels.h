// SPDX-License-Identifier: Apache-2.0
// Traffic by level as the report has it. Thread safety: pure functions.
#pragma once

#include <vector>

#include "mapcore/decide/levels.h"
#include "mapcore/report/report.h"

namespace ondeloc {

std::vector<ReportDomain> report_domains(const TrafficChange& change);
// The inverse.
TrafficChange change_of(const std::vector<ReportDomain>& domains);

}  // namespace ondeloc
