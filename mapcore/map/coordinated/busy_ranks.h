// SPDX-License-Identifier: Apache-2.0
// The time of the busiest rank in a partition over last-level caches (cost.h, C_i), for a search
// that asks thousands of times for the time after a move. The ranks with the longest times are kept
// with their edges, so that their times after a move cost a few operations. Without times of ranks
// (TreeTarget::per_rank is 0) every time is 0. Thread safety: none.
#pragma once

#include <array>
#include <bit>
#include <span>
#include <vector>

#include "mapcore/map/coordinated/starts.h"
#include "mapcore/map/coordinated/tree_target.h"

namespace ondeloc::coordinated {

// The rank goes to the cache `to`, in exchange for `partner` (-1: alone).
struct TreeMove {
  int rank, partner, from, to;
};

class BusyRanks {
 public:
  explicit BusyRanks(const TreeTarget& target);
  BusyRanks(const BusyRanks&) = delete;
  BusyRanks& operator=(const BusyRanks&) = delete;

  bool counts() const { return target_.per_rank > 0; }
  // Takes the price of the rank in its own cache (TreeState::price). After the last of some calls,
  // find() has to be called.
  void set(int rank, double price) { seconds_[rank] = target_.per_rank * price; }
  void find(const Part& part);
  int busiest() const { return count_ > 0 ? kept_[0].rank : -1; }
  double most() const { return count_ > 0 ? kept_[0].seconds : 0; }

  // Bit j is set if the rank is the j-th of the busiest ranks or has an edge with it.
  unsigned near(int rank) const { return near_[rank]; }
  unsigned near_cache(int llc) const { return near_cache_[llc]; }  // all its members together
  static constexpr int kKept = 4;
  // The times of the kept ranks, but not of the one that moves, after that one moves alone.
  struct Beside {
    std::array<double, kKept> seconds{};
    double most = 0;
    // A time that a partner with these bits does not change.
    double without(unsigned near) const {
      const int first = std::countr_one(near);
      return near == 0 ? most : first < kKept ? seconds[first] : 0;
    }
  };
  Beside beside(int rank, int from, int to) const;

  // A lower bound of the time of the busiest rank after the move, and that time. `mine` and
  // `theirs` are the prices of the rank and of its partner after the move. A time above `limit` may
  // be too short. REQUIRES: counts().
  double least_after(const TreeMove& move, double mine, double theirs) const;
  double after(const TreeMove& move, double mine, double theirs, double limit) const;

 private:
  struct Kept {
    int rank = -1;
    double seconds = 0;
    std::vector<const TreeEdge*> edge_to;  // by peer
  };
  struct Mover {
    int rank, from, to;
  };
  double add_changes(const Mover& mover, int other, double limit) const;
  double most_of_changed_and_kept(const TreeMove& move) const;
  void choose();
  void keep(int place, std::span<const int> ranks);
  void mark_near(const Part& part);
  double after_of(const Kept& kept, const TreeMove& move) const;

  const TreeTarget& target_;
  const Part* part_ = nullptr;
  std::vector<double> seconds_;  // of each rank
  std::array<Kept, kKept> kept_;
  int count_ = 0;
  std::vector<unsigned char> near_, near_cache_;
  mutable std::vector<double> change_;  // of prices; 0 but in after()
  mutable std::vector<int> changed_;
};

}  // namespace ondeloc::coordinated
