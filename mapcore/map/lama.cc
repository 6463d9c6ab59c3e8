// SPDX-License-Identifier: Apache-2.0
// lama: layouts of the Locality-Aware Mapping Algorithm. Grammar and source:
// mapcore/options/lama_layout.h. The algorithm is the nested loops of the paper's figure 1 over the
// maximal tree of one node. Levels that the layout does not name are pruned: their children become
// children of the parent. Coordinates that do not exist or are not available are skipped.
#include "mapcore/map/lama.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "mapcore/map/algorithms.h"

namespace ondeloc {
namespace {

// Position of a PU in the pruned tree: for each level of the layout, the number of the object among
// the children of its parent.
using Coordinate = std::vector<int>;

int ancestor(const Pu& pu, int level) {
  // A level that the machine lacks is one object per parent, whose id is -1 everywhere.
  return pu.ancestor[level];
}

std::size_t count_objects(const Machine& machine, int level) {
  std::vector<int> seen;
  for (const Pu& pu : machine.pus) seen.push_back(ancestor(pu, level));
  std::sort(seen.begin(), seen.end());
  return static_cast<std::size_t>(std::unique(seen.begin(), seen.end()) - seen.begin());
}

// Returns the levels of the layout, outermost first. Only NUMA nodes have no fixed place: they hold
// packages or caches on one machine and are inside them on another. The numbers of objects decide.
std::vector<int> by_containment(const Machine& machine, std::vector<int> levels) {
  std::sort(levels.begin(), levels.end());
  auto numa = std::find(levels.begin(), levels.end(), static_cast<int>(Level::kNuma));
  if (numa == levels.end()) return levels;
  const std::size_t nodes = count_objects(machine, *numa);
  for (; numa != levels.begin() && count_objects(machine, *(numa - 1)) > nodes; --numa)
    std::swap(*numa, *(numa - 1));
  for (; numa + 1 != levels.end() && count_objects(machine, *(numa + 1)) < nodes; ++numa)
    std::swap(*numa, *(numa + 1));
  return levels;
}

class Tree {
 public:
  Tree(const Machine& machine, const LamaLayout& layout)
      : nesting_(by_containment(machine, layout.levels)), width_(nesting_.size()) {
    for (const Pu& pu : machine.pus) add(pu);
  }

  const std::vector<int>& nesting() const { return nesting_; }
  int width(std::size_t depth) const { return width_[depth]; }
  // Returns nullptr if there is no such PU.
  const Pu* find(const Coordinate& at) const {
    const auto hit = pu_at_.find(at);
    return hit == pu_at_.end() ? nullptr : hit->second;
  }

 private:
  void add(const Pu& pu) {
    Coordinate at;
    std::vector<int> path;  // object ids from the outermost level down
    for (std::size_t depth = 0; depth < nesting_.size(); ++depth) {
      const std::vector<int> parent = path;
      path.push_back(ancestor(pu, nesting_[depth]));
      const auto [known, is_new] = number_.try_emplace(path, 0);
      if (is_new) known->second = children_[parent]++;
      at.push_back(known->second);
      width_[depth] = std::max(width_[depth], known->second + 1);
    }
    pu_at_.emplace(std::move(at), &pu);
  }

  std::vector<int> nesting_;
  std::vector<int> width_;
  std::map<std::vector<int>, int> number_, children_;
  std::map<Coordinate, const Pu*> pu_at_;
};

// Returns the id of the PU's object of the level. A level that the machine lacks is one object per
// parent, so the parent stands for that object.
std::int64_t object_of(const Pu& pu, int level) {
  for (; level >= 0; --level) {
    if (ancestor(pu, level) >= 0) return ancestor(pu, level);
  }
  return 0;
}

class LamaPlacer {
 public:
  LamaPlacer(const MapRequest& request, const LamaLayout& layout)
      : request_(request),
        layout_(layout),
        machine_(request.whole != nullptr ? *request.whole : request.machine),
        tree_(machine_, layout),
        taken_(request.slots.size()) {
    for (std::size_t s = 0; s < request.slots.size(); ++s) {
      for (const PuOs pu : request.slots[s].pus.to_vector()) slots_of_[pu.value].push_back(s);
    }
  }

  // Makes passes over the whole tree. In the first pass each PU takes one rank and each limit
  // holds. If ranks are left and may share, limits are raised until every PU is in use, and only
  // then does a PU take one rank more.
  Result<Mapping> run() {
    const auto ranks = static_cast<std::size_t>(request_.traffic.ranks());
    std::size_t most = 0;
    for (const auto& [pu, slots] : slots_of_) most = std::max(most, slots.size());
    for (;;) {
      is_limited_ = false;
      Coordinate at(tree_.nesting().size());
      loop(layout_.levels.size(), at, ranks);
      if (mapping_.size() == ranks) break;
      if (!layout_.oversubscribe || (!is_limited_ && ranks_a_pu_ >= most)) {
        return Error(
            fmt::format("lama: only {} of {} ranks have a place of their own{}", mapping_.size(),
                        ranks, layout_.oversubscribe ? "" : ": add /oversubscribe to share CPUs"));
      }
      if (is_limited_) {
        ++times_limits_;
      } else {
        ++ranks_a_pu_;
      }
    }
    if (layout_.sequential) number_by_thread();
    return std::move(mapping_);
  }

 private:
  // Figure 1 of the paper: the rightmost level is the outermost loop.
  void loop(std::size_t left, Coordinate& at, std::size_t ranks) {
    if (left == 0) return try_place(at);
    const int level = layout_.levels[left - 1];
    const auto depth = static_cast<std::size_t>(
        std::find(tree_.nesting().begin(), tree_.nesting().end(), level) - tree_.nesting().begin());
    for (const int i : visited(level, tree_.width(depth))) {
      if (mapping_.size() == ranks) return;
      at[depth] = i;
      loop(left - 1, at, ranks);
    }
  }

  // Numbers from 0 to width - 1: those that the layout names first, in its order.
  std::vector<int> visited(int level, int width) const {
    std::vector<int> order;
    for (const LamaOrder& wanted : layout_.orders) {
      if (wanted.level != level) continue;
      for (const int i : wanted.first)
        if (i < width) order.push_back(i);
    }
    const std::vector<int> named = order;
    for (int i = 0; i < width; ++i)
      if (std::find(named.begin(), named.end(), i) == named.end()) order.push_back(i);
    return order;
  }

  void try_place(const Coordinate& at) {
    const Pu* pu = tree_.find(at);
    if (pu == nullptr || held_[pu->os.value] >= ranks_a_pu_) return;
    const auto slots = slots_of_.find(pu->os.value);
    if (slots == slots_of_.end()) return;
    for (const std::size_t slot : slots->second) {
      if (taken_[slot] != 0) continue;
      if (!is_below_limits(*pu)) {
        is_limited_ = true;
        return;
      }
      taken_[slot] = 1;
      mapping_.emplace_back(static_cast<int>(slot));
      count_use(*pu);
      for (const PuOs held : request_.slots[slot].pus.to_vector()) ++held_[held.value];
      return;
    }
  }

  bool is_below_limits(const Pu& pu) const {
    return std::all_of(layout_.most_per_resource.begin(), layout_.most_per_resource.end(),
                       [&](LamaWidth limit) {
                         const auto used = uses_.find({limit.level, object_of(pu, limit.level)});
                         return used == uses_.end() || used->second < limit.count * times_limits_;
                       });
  }
  void count_use(const Pu& pu) {
    for (const LamaWidth limit : layout_.most_per_resource)
      ++uses_[{limit.level, object_of(pu, limit.level)}];
  }

  void number_by_thread() {
    auto key = [&](SlotIndex slot) {
      const Pu* pu = request_.machine.find(PuOs(request_.slots[slot.value].pus.first()));
      return std::pair(pu == nullptr ? CpuSet::kMaxCpu : pu->logical.value, slot.value);
    };
    std::sort(mapping_.begin(), mapping_.end(),
              [&](SlotIndex a, SlotIndex b) { return key(a) < key(b); });
  }

  const MapRequest& request_;
  const LamaLayout& layout_;
  const Machine& machine_;
  Tree tree_;
  std::vector<char> taken_;
  std::map<int, std::vector<std::size_t>> slots_of_;  // by OS index
  std::map<std::pair<int, std::int64_t>, int> uses_;
  std::map<int, std::size_t> held_;  // ranks on a PU, by OS index
  std::size_t ranks_a_pu_ = 1;
  int times_limits_ = 1;
  bool is_limited_ = false;  // a limit kept a rank off a PU in this pass
  Mapping mapping_;
};

}  // namespace

CpuSet lama_binding(const Machine& machine, const LamaWidth& bind, PuOs first) {
  CpuSet pus;
  const Pu* own = machine.find(first);
  if (own == nullptr) return pus;
  const std::int64_t start = object_of(*own, bind.level);
  std::int64_t last = start;
  int objects = 1;
  for (const Pu& pu : machine.pus) {
    const std::int64_t object = object_of(pu, bind.level);
    if (object < start) continue;
    if (object != last && ++objects > bind.count) break;
    last = object;
    pus.set(pu.os);
  }
  return pus;
}

Result<Mapping> map_lama(const MapRequest& request, std::string_view argument) {
  const auto layout = parse_lama(argument);
  if (!layout) return layout.error();
  return LamaPlacer(request, *layout).run();
}

}  // namespace ondeloc
