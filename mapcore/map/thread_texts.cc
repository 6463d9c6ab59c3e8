// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/thread_texts.h"

#include <fmt/format.h>

#include <cstddef>

namespace ondeloc {

std::string to_omp_places(const RankCpus& placement) {
  std::string text;
  for (const CpuSet& cpus : placement) {
    text += text.empty() ? "{" : ",{";
    const auto numbers = cpus.to_vector();
    for (std::size_t i = 0; i < numbers.size(); ++i)
      text += fmt::format("{}{}", i == 0 ? "" : ",", numbers[i].value);
    text += '}';
  }
  return text + "\n";
}

namespace {

Result<std::string> one_cpu_each(const RankCpus& placement, char separator) {
  std::string text;
  for (std::size_t thread = 0; thread < placement.size(); ++thread) {
    if (placement[thread].count() != 1)
      return Error(
          fmt::format("thread {} has the CPUs {}, but this format names one CPU for each thread: "
                      "use --format omp-places, or -c 1",
                      thread, placement[thread].to_list()));
    if (thread > 0) text += separator;
    text += std::to_string(placement[thread].first());
  }
  return text + "\n";
}

}  // namespace

Result<std::string> to_gomp_affinity(const RankCpus& placement) {
  return one_cpu_each(placement, ' ');
}

Result<std::string> to_likwid_pin(const RankCpus& placement) {
  return one_cpu_each(placement, ',');
}

std::string to_taskset(const RankCpus& placement) {
  CpuSet all;
  for (const CpuSet& cpus : placement) all |= cpus;
  return all.to_list() + "\n";
}

}  // namespace ondeloc
