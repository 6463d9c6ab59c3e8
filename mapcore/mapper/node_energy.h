// SPDX-License-Identifier: Apache-2.0
// Use of the node while the step ran: energy, as slurmstepd has read it (spank/energy.h), and the
// traffic of its memory controllers, from resctrl's monitoring where the kernel lets the user
// read it. Both are sums over the whole node: other jobs on it are included.
// Source of resctrl's files: Documentation/filesystems/resctrl.rst of Linux. The kernel extends
// these counters to 64 bits and reads them each second, so that they do not wrap.
// Thread safety: for one thread. Errors: a sentence in the result.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

#include "mapcore/report/report.h"
#include "mapcore/segment/event_record.h"

namespace ondeloc {

ReportEnergy energy_of(const ondeloc_record_end& record);

class NodeMemory {
 public:
  // Begins to count. `root`: of a made tree in a test; empty: the machine's.
  explicit NodeMemory(std::string root);
  // The traffic since then.
  ReportMemory since_start() const;

 private:
  struct Bytes {
    std::uint64_t local = 0, total = 0;
  };
  // Bytes, or why they are unknown.
  std::variant<Bytes, std::string> read() const;

  std::string root_;
  std::variant<Bytes, std::string> start_;
};

}  // namespace ondeloc
