// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/node_part.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ondeloc {
namespace {

// The recorder writes a record of drops for every rank, also if it dropped nothing. In files of
// earlier releases the totals show the ranks: their pairs are of one node.
std::vector<int> recorded_ranks(const ProfileReader& profile) {
  std::set<int> ranks;
  for (const RankDrops& drops : profile.drops()) ranks.insert(static_cast<int>(drops.rank));
  for (const PairTotal& total : profile.totals()) {
    ranks.insert(static_cast<int>(total.src));
    ranks.insert(static_cast<int>(total.dst));
  }
  return {ranks.begin(), ranks.end()};
}

Error of_several_nodes(const std::string& name, std::size_t nodes, const char* files) {
  return Error(
      fmt::format("'{}' holds the recordings of {} nodes, and a mapping is of one: map the "
                  "{} of each node, and put the rankfiles together",
                  name, nodes, files));
}

bool is_partial(const ProfileReader& profile) {
  const auto& header = profile.header();
  return header.local_ranks > 0 && header.local_ranks < header.ranks;
}

}  // namespace

Result<NodePart> node_part(const ProfileReader& profile, const std::string& name) {
  const auto& header = profile.header();
  if (header.nodes > 1) return of_several_nodes(name, header.nodes, "profile");
  if (!is_partial(profile)) return NodePart{};
  NodePart part{recorded_ranks(profile), header.node};
  if (part.ranks.size() == header.local_ranks) return part;
  return Error(
      fmt::format("'{}' has {} of {} ranks, and names only {} of them: the recording ended "
                  "too early",
                  name, header.local_ranks, header.ranks, part.ranks.size()));
}

Result<NodePart> node_part(const ReportInput& report, const std::string& name) {
  if (report.nodes.size() > 1) return of_several_nodes(name, report.nodes.size(), "report");
  NodePart part{report.ranks, report.node};
  std::sort(part.ranks.begin(), part.ranks.end());
  part.ranks.erase(std::unique(part.ranks.begin(), part.ranks.end()), part.ranks.end());
  const bool all = part.ranks.size() == static_cast<std::size_t>(report.matrix.ranks);
  return all && report.off_node.empty() ? NodePart{} : part;
}

Status check_all_ranks(const ProfileReader& profile, const std::string& name) {
  if (!is_partial(profile)) return {};
  return Error(
      fmt::format("'{}' holds {} of the {} ranks: put the profiles of all nodes together "
                  "first (ondeloc profile merge)",
                  name, profile.header().local_ranks, profile.header().ranks));
}

}  // namespace ondeloc
