// SPDX-License-Identifier: Apache-2.0
// Writes the lists of a report that grow with the job or with the square of the ranks: intervals
// and cells of matrices. The mapper writes reports while ranks run, perhaps on the CPU of one, and
// values of the JSON library cost an allocation for each key. A member of an object appends
// ",\n \"key\": [...]" with an item on each line. A number that is not finite is null; bytes of a
// text that are not UTF-8 are replaced. Thread safety: for one thread.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "mapcore/report/report.h"

namespace ondeloc {

void append_member(std::string_view key, const std::vector<ReportCell>& cells, std::string& json);
void append_member(std::string_view key, const std::vector<ReportInterval>& intervals,
                   std::string& json);

// Calls `put(key, value)` for each key of a domain, which the totals have too.
template <class Put>
void for_each_member(const ReportDomain& domain, Put put) {
  put("domain", domain.domain);
  put("bytes_before", domain.bytes_before);
  put("bytes_after", domain.bytes_after);
  put("messages_before", domain.messages_before);
  put("messages_after", domain.messages_after);
}

}  // namespace ondeloc
