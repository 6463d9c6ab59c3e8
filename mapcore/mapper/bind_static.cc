// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/bind_static.h"

#include <fmt/format.h>

#include "mapcore/base/text.h"
#include "mapcore/binding/affinity.h"
#include "mapcore/binding/binder.h"
#include "mapcore/binding/proc.h"
#include "mapcore/rankfile/rankfile.h"
#include "mapcore/topology/load.h"

namespace ondeloc {
namespace {

// Hexadecimal, the last digit holds CPUs 0 to 3. False where it is not.
bool add_hex_mask(std::string_view text, CpuSet& out) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  if (text.empty() || text.size() > CpuSet::kMaxCpu / 4) return false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[text.size() - 1 - at];
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return false;
    for (int bit = 0; bit < 4; ++bit) {
      if ((digit & (1 << bit)) != 0) out.set(PuOs(static_cast<int>(4 * at) + bit));
    }
  }
  return true;
}

// What the step may use here: the kernel's cpuset, and where Slurm wrote all masks down, no more
// than those.
CpuSet usable_cpus(const StaticRequest& request, const Machine& machine) {
  CpuSet usable = machine.allowed;
  if (const auto step = read_step_cpuset(request.pid)) usable &= step->cpus;
  const CpuSet listed = cpus_of_bind_list(request.cpu_bind_type, request.cpu_bind_list);
  if (!listed.empty()) usable &= listed;
  return usable;
}

std::string name_of(const StaticRequest& request) {
  return fmt::format("rankfile '{}'", shorten_path(request.file));
}

Status check_ranks(const Rankfile& file, const StaticRequest& request) {
  const std::string name = name_of(request);
  for (const auto& [rank, entry] : file.entries) {
    if (rank.value >= request.ranks) {
      return Error(
          fmt::format("{}: line {}: there is no rank {}: the step has {} rank{}, counted from 0",
                      name, entry.line, rank.value, request.ranks, request.ranks == 1 ? "" : "s"));
    }
  }
  for (int rank = 0; rank < request.ranks; ++rank) {
    if (!file.entries.contains(WorldRank(rank))) {
      return Error(
          fmt::format("{}: rank {} is missing: every rank of the step needs a line", name, rank));
    }
  }
  return {};
}

Result<Rankfile> read_checked(const StaticRequest& request) {
  auto file = read_rankfile(request.file);
  if (!file) return file;
  if (Status good = check_ranks(*file, request); !good) return std::move(good).error();
  return file;
}

Result<CpuSet> cpus_of_rank(const Rankfile& file, const StaticRequest& request,
                            const Machine& machine) {
  const std::string name = name_of(request);
  const RankfileEntry& entry = file.entries.at(request.rank);
  if (!is_on_node(entry, request.node, request.node_index)) {
    return Error(fmt::format("{}: line {}: rank {} is on host '{}', but Slurm started it on '{}'",
                             name, entry.line, request.rank.value, shorten(host_of(entry)),
                             request.node));
  }
  auto pus = resolve_slots(entry, machine, usable_cpus(request, machine),
                           request.relative || file.relative);
  if (!pus) return std::move(pus).error().within(name);
  return pus;
}

}  // namespace

CpuSet cpus_of_bind_list(const std::string& type, const std::string& list) {
  CpuSet cpus;
  if (!type.starts_with("mask_cpu")) return cpus;
  for (const std::string_view mask : split(list, ',')) {
    if (!add_hex_mask(mask.substr(0, mask.find('*')), cpus)) return {};
  }
  return cpus;
}

StaticOutcome bind_static(const StaticRequest& request) {
  auto file = read_checked(request);
  if (!file) return {Fault::kUser, file.error().message()};
  auto machine = load_machine(request.topology);
  if (!machine) return {Fault::kInternal, machine.error().message()};
  auto pus = cpus_of_rank(*file, request, *machine);
  if (!pus) return {Fault::kUser, pus.error().message()};
  if (Status bound = set_affinity(request.pid, *pus); !bound) {
    return {Fault::kInternal,
            fmt::format("{}: rank {}: CPUs {}: {}", name_of(request), request.rank.value,
                        pus->to_list(), bound.error().message())};
  }
  return {};
}

}  // namespace ondeloc
