// SPDX-License-Identifier: Apache-2.0
#include "mapcore/measure/buffer_size.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "mapcore/base/quantity.h"

namespace ondeloc {
namespace {

constexpr std::uint64_t kTimesCache = 4;
constexpr std::uint64_t kLeastBuffer = 8U << 20;
constexpr std::uint64_t kShareOfFree = 2;  // half of what is free

// The cache itself and the L2 caches below it, which hold other lines on many processors.
std::uint64_t bytes_with_l2(const Machine& machine, const Llc& llc) {
  std::uint64_t bytes = llc.bytes;
  for (const Cache& cache : machine.caches)
    if (cache.level == Level::kL2 && llc.level != Level::kL2 && cache.pus.is_subset_of(llc.pus))
      bytes += cache.bytes;
  return bytes;
}

// Bytes of the caches for each reader, where a reader has the most of them.
std::uint64_t cache_of_reader(const Machine& machine, std::span<const Reader> readers) {
  std::map<LlcIndex, std::uint64_t> readers_of;
  for (const Reader& reader : readers)
    if (const Pu* pu = machine.find(reader.cpu)) ++readers_of[pu->llc];
  std::uint64_t most = 0;
  for (const auto& [llc, count] : readers_of)
    most = std::max(most, bytes_with_l2(machine, machine.llcs[llc]) / count);
  return most;
}

// Bytes that each reader may take of the memory that is free on the node of its buffer.
std::uint64_t free_for_reader(const Machine& machine, std::span<const Reader> readers,
                              const FreeMemory& free_on) {
  std::map<NodeIndex, std::uint64_t> readers_of;
  for (const Reader& reader : readers) ++readers_of[machine.node_of(reader.home)];
  std::uint64_t least = UINT64_MAX;
  for (const auto& [node, count] : readers_of)
    if (node.value >= 0)
      if (const auto free = free_on(machine.nodes[node].os))
        least = std::min(least, *free / kShareOfFree / count);
  return least;
}

// The same of the memory that the cgroup may still take.
std::uint64_t allowed_for_reader(std::span<const Reader> readers,
                                 const FreeInCgroup& free_in_cgroup) {
  const auto free = free_in_cgroup();
  return free ? *free / kShareOfFree / readers.size() : UINT64_MAX;
}

}  // namespace

Result<std::size_t> buffer_size(const Machine& machine, std::span<const Reader> readers,
                                const FreeMemory& free_on, const FreeInCgroup& free_in_cgroup) {
  const std::uint64_t wanted =
      std::max(kLeastBuffer, kTimesCache * cache_of_reader(machine, readers));
  const std::uint64_t free = free_for_reader(machine, readers, free_on);
  const std::uint64_t allowed = allowed_for_reader(readers, free_in_cgroup);
  if (free < wanted / 2)
    return Error(fmt::format(
        "{} of free memory for each of {} CPUs is too little: the caches would hold the data "
        "that is read; measure when the node has more free memory",
        bytes_text(static_cast<double>(free)), readers.size()));
  if (allowed < wanted / 2)
    return Error(fmt::format(
        "the memory limit of the job's cgroup leaves {} for each of {} CPUs, and the caches would "
        "hold the data that is read; give the job more memory, such as with srun --mem=0",
        bytes_text(static_cast<double>(allowed)), readers.size()));
  return std::min({free, allowed, wanted});
}

}  // namespace ondeloc
