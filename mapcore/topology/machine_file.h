// SPDX-License-Identifier: Apache-2.0
// The machine file: what `ondeloc measure` found on a node, as JSON (format version 1; keys in
// ondeloc(1)). Times are in nanoseconds there and in seconds here, rates in bytes per second.
// Errors: one sentence that names the file. Thread safety: values; read_machine_file reads a file.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "mapcore/base/read_file.h"
#include "mapcore/base/result.h"
#include "mapcore/topology/machine.h"

namespace ondeloc {

// Between two cores whose smallest common domain this is; 0: the machine has no such pair.
struct MeasuredDomain {
  double latency = 0;     // seconds for a message of one cache line, one way
  double bandwidth = 0;   // bytes per second of large messages
  double home_other = 0;  // the latency if the line lies in the memory of the receiver's side
};

struct MeasuredNode {
  int os = 0;         // the kernel's number
  double alone = 0;   // bytes per second, all cores of the node reading its memory
  double shared = 0;  // the same while the cores of all other nodes read theirs
};

struct MeasuredLink {
  int from = 0, to = 0;  // kernel's numbers: cores of `from` read memory of `to`
  double bandwidth = 0;
};

struct MachineFile {
  std::string date;  // such as 2026-11-24
  std::string host, cpu, kernel;
  int cpus = 0, llcs = 0, packages = 0;  // of the whole machine
  int numa_nodes = 0;                    // the same; 0: an earlier release wrote the file
  // The load was high before the measurement, or the times of messages scattered; the notes say
  // which, but not those of an earlier release.
  bool busy = false;
  std::array<MeasuredDomain, kDomainCount> domains{};
  std::vector<MeasuredNode> nodes;
  std::vector<MeasuredLink> links;
  double core_bandwidth = 0;  // memory of the own node, one core alone
  double port_bandwidth = 0;  // the same, all cores of one last-level cache; 0: one cache a node
  std::vector<std::string> notes;  // sentences for the user: what is missing or less sure, and why

  std::string source() const;  // "measured 2026-11-24 on NAME"
  const MeasuredDomain& domain(Domain which) const {
    return domains[static_cast<std::size_t>(which)];
  }
};

inline constexpr std::size_t kMaxMachineFileBytes = 1u << 20;
inline constexpr std::size_t kMaxMachineFileObjects = 4096;  // nodes, or links

// Refuses what `ondeloc measure` cannot write, so that no typing error is read as a number: rates
// below 1 B/s that are not 0, latencies above a second, a latency without a bandwidth, elements
// that are no objects, and nodes or links that are there twice.
Result<MachineFile> parse_machine_file(std::string_view text, std::string_view name);
Result<MachineFile> read_machine_file(const std::string& path, ReadFrom from = ReadFrom::kAnything);
std::string to_json(const MachineFile& file);

// An error if the file was measured on another kind of machine than `whole`, or under another NUMA
// setting of its firmware. A measurement inside an allocation names only some of the NUMA nodes.
Status check_machine_file(const MachineFile& file, const Machine& whole, std::string_view name);

int count_packages(const Machine& machine);

}  // namespace ondeloc
