// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/page_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "mapcore/mapper/node_pairs.h"
#include "mapcore/mapper/pauses.h"
#include "mapcore/mapper/rank_list.h"

namespace ondeloc {
namespace {

constexpr double kMuch = 0.1;
// Pages that are to follow do so soon.
constexpr int kPausesToBring = 1000;  // times the length of a look
constexpr std::chrono::seconds kLongest(5), kLongestToBring(2);
// Two looks at a rank tell where the program put its memory: the first may come while it does so.
// Later looks seldom tell more.
constexpr int kEnoughLooks = 2, kSlowerLater = 10;

std::map<int, double> shares_of_cpus(const Machine& machine, const CpuSet& cpus) {
  std::map<int, double> shares;
  double all = 0;
  for (const NumaNode& node : machine.nodes) {
    const int here = (node.pus & cpus).count();
    if (here > 0) shares[node.os] += here;
    all += here;
  }
  for (auto& [node, share] : shares) share /= all;
  return shares;
}

// Without the pages in memory that ranks are not mapped to. The program asked for them there (HBM,
// a GPU's memory), or the kernel moved them there because they are not used (CXL): they are not
// away from their threads, and stay.
PagesByNode in_ordinary_memory(PagesByNode pages, const Machine& machine) {
  for (const OtherMemory& memory : machine.other_memories)
    if (!memory.near.empty() || !memory.kind.empty()) pages.erase(memory.os);
  return pages;
}

std::chrono::nanoseconds pause_after(std::chrono::nanoseconds look, int looks, bool brings) {
  if (brings) return std::min<std::chrono::nanoseconds>(kPausesToBring * look, kLongestToBring);
  const int slower = looks > kEnoughLooks ? kSlowerLater : 1;
  return slower * std::min<std::chrono::nanoseconds>(kPauses * look, kLongest);
}

}  // namespace

void PageWatch::look_at(LocalRank rank, Placement& placement, const RankState& state, bool brings) {
  const CpuSet& cpus = placement.bindings().mask_of(rank);
  const Machine& machine = placement.slots().machine;
  Seen& seen = seen_[rank];
  auto pages = sample_pages(state.process);
  if (!pages) return;
  seen.pages = std::move(pages);
  seen.is_left = placement.has_left_memory(rank);
  if (!(std::exchange(seen.cpus, cpus) == cpus)) seen.looks = 0;
  ++seen.looks;
  const PagesByNode ordinary = in_ordinary_memory(*seen.pages, machine);
  seen.far = far_share(ordinary, shares_of_cpus(machine, cpus));
  const std::vector<int> home = nodes_under(machine, cpus);
  if (!brings || home.size() != 1 || seen.far < kMuch || seen.brought_to == cpus) return;
  seen.brought_to = cpus;
  std::vector<int> there;
  for (const auto& [node, count] : ordinary) there.push_back(node);
  placement.bring_pages(rank, there);
}

void PageWatch::look(Placement& placement, const Ranks& ranks, bool brings) {
  if (!placement.is_real() || placement.slots().machine.nodes.size() < 2) return;
  const auto begin = Clock::now();
  if (begin < due_ || seen_.empty()) return;
  const LocalRank rank(static_cast<int>(next_));
  next_ = (next_ + 1) % seen_.size();
  const bool away = !placement.bindings()[rank].foreign.empty();
  if (ranks.at(rank).movable() && !away) look_at(rank, placement, ranks.at(rank), brings);
  const auto end = Clock::now();
  due_ = end + pause_after(end - begin, seen_[rank].looks, brings);
}

void PageWatch::fill(LocalRank rank, ReportRank& line) const {
  const Seen& seen = seen_[rank];
  if (!seen.pages) return;
  line.far_pages = seen.far;
  double all = 0;
  for (const auto& [node, count] : *seen.pages) all += static_cast<double>(count);
  for (const auto& [node, count] : *seen.pages)
    line.page_nodes.push_back({node, static_cast<double>(count) / all});
}

std::string PageWatch::note(const Ranks& ranks) const {
  RankList far;
  double most = 0;
  for (const LocalRank rank : seen_.ids()) {
    const Seen& seen = seen_[rank];
    if (!seen.pages || seen.far < kMuch || seen.is_left) continue;
    far.add(ranks.at(rank).world);
    most = std::max(most, seen.far);
  }
  if (far.empty()) return "";
  return fmt::format(
      "memory: of the pages of ranks {}, up to {:.0f} % are on NUMA nodes away from their threads; "
      "let each thread be the first to write its part of the data",
      far.to_list(), 100 * most);
}

}  // namespace ondeloc
