// SPDX-License-Identifier: Apache-2.0
// The settings that ondeloc-mapper is started with, for the mapper and for the recorder.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "mapcore/options/options.h"

namespace ondeloc {

struct MapperConfig {
  int segment_fd = -1;
  int channel_fd = -1;
  Options options;  // in force: with_least_interval()
  std::string node;
  std::string topology;        // empty: the host
  std::string machine_file;    // of the user or the site; empty: none
  std::string report_dir;      // of the site, for a report that no user asked for; empty: none
  std::string partition;       // of the job; empty: unknown
  std::uint32_t restarts = 0;  // of a requeued job
  std::string rank_library;    // path on the node; empty: nobody looks whether containers have it
  SiteLog log = SiteLog::kNone;
  std::string raised_interval;  // raised_interval(), for the notes
  std::string no_events;        // why nobody listens to events, for the notes; empty: somebody does
  std::string devices_root;  // for tests: the tree of /proc and /sys in which GPUs are looked for
  std::string nvml;          // for tests: the library in place of NVIDIA's; empty: that one
  // When this process began, as far as it is known.
  std::chrono::steady_clock::time_point born = std::chrono::steady_clock::now();
  bool read_rows = true;  // false: test switch no-rows
  // The rows tell all that a SAMPLE tells. An event takes a rank, slurmstepd and the mapper far
  // more time than a row, so it is asked for rarely: as a check, and for the user who looks at
  // events.
  std::chrono::milliseconds sample_every = std::chrono::seconds(10);
};

}  // namespace ondeloc
