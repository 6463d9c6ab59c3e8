// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/background_load.h"

#include <sys/resource.h>

#include <chrono>
#include <system_error>

#include "mapcore/binding/affinity.h"
#include "mapcore/topology/load.h"

namespace ondeloc {
namespace {

constexpr int kNice = 10;  // a tenth of the time of a rank that shares its CPU

// Failures do not matter: the load then takes some time from a rank.
Result<Machine> load_aside(const std::string& topology, const CpuSet& cpus) {
  (void)setpriority(PRIO_PROCESS, 0, kNice);  // of this thread
  if (!cpus.empty()) (void)set_affinity(0, cpus);
  return load_machine(topology);
}

}  // namespace

void BackgroundLoad::start(const std::string& topology, const CpuSet& cpus) {
  try {
    load_ = std::async(std::launch::async, load_aside, topology, cpus);
  } catch (const std::system_error&) {  // no thread to be had: ulimit -u, pids.max
    std::promise<Result<Machine>> now;
    now.set_value(load_machine(topology));
    load_ = now.get_future();
  }
}

bool BackgroundLoad::is_ready() const {
  return load_.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

}  // namespace ondeloc
