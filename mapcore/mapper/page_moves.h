// SPDX-License-Identifier: Apache-2.0
// Pages that are to follow their ranks, until they have: those that found no room are tried again.
// Thread safety: for one thread. Nothing here is fatal; what a user should know goes to `notes`.
#pragma once

#include <set>
#include <span>
#include <string>
#include <vector>

#include "mapcore/binding/page_mover.h"
#include "mapcore/mapper/node_pairs.h"
#include "mapcore/mapper/ranks.h"

namespace ondeloc {

class PageMoves {
 public:
  // The rank went from the nodes `before` to those `after` (kernel's numbers, ascending). What it
  // left on earlier nodes is to go there, too, or stays where it has come back to.
  void add(LocalRank rank, std::span<const int> before, std::span<const int> after);
  // Those of all ranks that fit together, a piece of each in turn: where ranks change places
  // between full nodes each makes room for the other. What is left stays here, with a note; to try
  // it again takes a look at the room of the nodes, no more.
  void run(const Ranks& ranks, std::set<std::string>& notes);
  bool empty() const { return moves_.empty(); }
  void clear() { moves_.clear(); }
  std::vector<NodePair> of(LocalRank rank) const;

 private:
  struct Move {
    LocalRank rank;
    NodePair nodes;
    std::optional<PageMover> mover;  // once it has begun
    std::string note;                // said of it
    bool fits = false, over = false;
  };
  void begin(const Ranks& ranks, std::set<std::string>& notes);
  void begin_those_of(LocalRank rank, const RankState& state, std::set<std::string>& notes);
  void choose();
  bool round(const Ranks& ranks, std::set<std::string>& notes);
  bool pass(const Ranks& ranks, std::set<std::string>& notes);
  static bool step(Move& move, const RankState& state, std::set<std::string>& notes);

  std::vector<Move> moves_;
  std::vector<std::string> untrue_;  // notes on moves that are no more
};

}  // namespace ondeloc
