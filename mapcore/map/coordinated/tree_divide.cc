// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/tree_divide.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "mapcore/map/coordinated/locality_start.h"
#include "mapcore/map/coordinated/relabel.h"
#include "mapcore/map/coordinated/solver.h"
#include "mapcore/map/coordinated/tree_groups.h"
#include "mapcore/map/coordinated/tree_valuation.h"
#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

// True if some ranks exchange more with each other than with all others, which send alike to all.
// Packages with even loads may have nodes then with one heavy pair more than the others, and no
// single move or swap takes a pair to another node.
bool has_few_heavy(RankGraph& ranks) {
  const Graph& skeleton = ranks.skeleton();
  if (!skeleton.is_thinned || skeleton.edges.empty()) return false;
  for (int i = 0; i < skeleton.vertices; ++i)
    if (skeleton.row(i).empty()) return true;
  return false;
}

Part divide_over_groups(const TreeProblem& problem, RankGraph& ranks, const CacheGroups& groups,
                        const Part& previous, int effort) {
  const Target target = target_over(groups, problem.tree, problem.request.model, ranks);
  if (has_nothing_to_gain(target))
    return previous.empty() ? packed_start(ranks.view, target) : previous;
  std::vector<double> distances(groups.size() * groups.size(), 1);
  for (std::size_t g = 0; g < groups.size(); ++g) distances[g * groups.size() + g] = 0;
  return solve_partition({ranks, target, distances, previous, effort});
}

Part divide_group(const TreeProblem& problem, const std::vector<int>& members,
                  const std::vector<int>& llcs, int effort) {
  RankGraph ranks(problem.ranks.view, members);
  Part previous;
  for (const int rank : members) {
    if (problem.previous.empty()) break;
    const auto at = std::find(llcs.begin(), llcs.end(), problem.previous[rank]);
    if (at == llcs.end()) continue;
    previous.push_back(static_cast<int>(at - llcs.begin()));
  }
  // If some ranks come from other groups, there is no previous partition of this group.
  if (previous.size() != members.size()) previous.clear();
  return divide_over_groups(problem, ranks, each_alone(llcs), previous, effort);
}

Part divide_groups(const TreeProblem& problem, const Part& over_groups, const CacheGroups& groups,
                   int effort) {
  Part part(over_groups.size(), 0);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    std::vector<int> members;
    for (std::size_t i = 0; i < over_groups.size(); ++i)
      if (over_groups[i] == static_cast<int>(g)) members.push_back(static_cast<int>(i));
    if (members.empty()) continue;
    const Part own = divide_group(problem, members, groups[g], effort);
    for (std::size_t i = 0; i < members.size(); ++i) part[members[i]] = groups[g][own[i]];
  }
  return part;
}

// Partitions the ranks over the packages, and then over all caches of each.
Part divide_packages(TreeProblem& problem, const CacheGroups& packages) {
  Part previous;
  for (const int llc : problem.previous)
    for (std::size_t g = 0; g < packages.size(); ++g)
      if (std::count(packages[g].begin(), packages[g].end(), llc) > 0)
        previous.push_back(static_cast<int>(g));
  const Part over_packages = divide_over_groups(problem, problem.ranks, packages, previous, 0);
  return divide_groups(problem, over_packages, packages, 0);
}

int effort_of_halves(const TreeProblem& problem) {
  if (problem.tree.ranks <= tuning::kFewOnTree) return tuning::kHalvesEffort;
  return problem.is_sparse() ? 1 : kRough;
}

void halve(const TreeProblem& problem, const std::vector<int>& members,
           const std::vector<int>& llcs, Part& part) {
  if (llcs.size() == 1 || members.empty()) {
    for (const int rank : members) part[rank] = llcs.front();
    return;
  }
  const auto middle = llcs.begin() + static_cast<std::ptrdiff_t>(llcs.size() / 2);
  const CacheGroups halves = {{llcs.begin(), middle}, {middle, llcs.end()}};
  RankGraph ranks(problem.ranks.view, members, tuning::kFarOfHalves);
  const Part own = divide_over_groups(problem, ranks, halves, {}, effort_of_halves(problem));
  for (std::size_t half = 0; half < halves.size(); ++half) {
    std::vector<int> inside;
    for (std::size_t i = 0; i < members.size(); ++i)
      if (own[i] == static_cast<int>(half)) inside.push_back(members[i]);
    halve(problem, inside, halves[half], part);
  }
}

}  // namespace

TreeProblem::TreeProblem(const MapRequest& asked)
    : request(asked),
      ranks(asked),
      over_nodes(Target::from(asked, ranks.strength)),
      tree(asked),
      previous(llcs_of(asked, asked.previous)) {}

bool TreeProblem::is_sparse() const {
  return ranks.view.edges.size() <= tuning::kSparseEdges * ranks.strength.size();
}

Part llcs_of(const MapRequest& request, const Mapping& mapping) {
  Part part;
  part.reserve(mapping.size());
  for (const SlotIndex slot : mapping) part.push_back(request.slots[slot.value].seat.llc.value);
  return part;
}

Part nodes_of(const TreeTarget& tree, const Part& llcs) { return renamed(llcs, tree.node_of); }

Part divide_over_nodes(TreeProblem& problem, int effort) {
  const Part previous =
      problem.previous.empty() ? Part() : nodes_of(problem.tree, problem.previous);
  if (has_nothing_to_gain(problem.over_nodes))
    return previous.empty() ? packed_start(problem.ranks.view, problem.over_nodes) : previous;
  const std::vector<double> distances = tree_distances(problem.request.machine);
  return solve_partition(
      {problem.ranks, problem.over_nodes, distances, previous, effort, &problem.levels});
}

Part divide_nodes(const TreeProblem& problem, const Part& over_nodes, int effort) {
  return divide_groups(problem, over_nodes, caches_by_node(problem.tree), effort);
}

Part divide_afresh(TreeProblem& problem) {
  const CacheGroups packages = packages_of(problem.tree, problem.request.model);
  if (packages.empty())
    return divide_nodes(problem, divide_over_nodes(problem, problem.is_sparse() ? 1 : 0));
  Part by_packages = divide_packages(problem, packages);
  if (!has_few_heavy(problem.ranks)) return by_packages;
  Part by_nodes = divide_nodes(problem, divide_over_nodes(problem, 0));
  TreeLoads scratch;
  const auto cost = [&](const Part& part) {
    return tree_cost(problem.tree, part, std::numeric_limits<double>::infinity(), scratch);
  };
  return cost(by_nodes) < cost(by_packages) ? std::move(by_nodes) : std::move(by_packages);
}

Part divide_by_halves(const TreeProblem& problem) {
  const TreeTarget& tree = problem.tree;
  if (tree.llcs < 3) return {};
  std::vector<int> members(static_cast<std::size_t>(tree.ranks)), llcs;
  std::iota(members.begin(), members.end(), 0);
  for (const std::vector<int>& node : caches_by_node(tree))
    llcs.insert(llcs.end(), node.begin(), node.end());
  Part part(members.size(), 0);
  halve(problem, members, llcs, part);
  return part;
}

}  // namespace ondeloc::coordinated
