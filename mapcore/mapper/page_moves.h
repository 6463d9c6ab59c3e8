// SPDX-License-Identifier: Apache-2.0
// Moves the pages of ranks that were moved. Pages that found no room are tried again.
// Thread safety: for one thread. Nothing here is fatal; what a user should know goes to `notes`.
#pragma once

#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "mapcore/binding/page_mover.h"
#include "mapcore/mapper/node_pairs.h"
#include "mapcore/mapper/step_notes.h"
#include "mapcore/step/ranks.h"

namespace ondeloc {

class PageMoves {
 public:
  // The rank went from the nodes `before` to the nodes `after` (kernel's numbers, ascending). Pages
  // that it left on earlier nodes follow too, unless the rank has come back to their node.
  void add(LocalRank rank, std::span<const int> before, std::span<const int> after);
  // Moves the pages of all ranks that fit together, a piece of each in turn: ranks that change
  // places between full nodes make room for each other. Where there is room, the pieces are copied
  // at the same time, since ranks wait for each other anyway. Pages that do not fit stay in the
  // list, with a note; trying them again costs only a look at the room of the nodes.
  void run(const Ranks& ranks, StepNotes& notes);
  bool empty() const { return moves_.empty(); }
  void clear() { moves_.clear(); }
  std::vector<NodePair> of(LocalRank rank) const;

 private:
  struct Move {
    LocalRank rank;
    NodePair nodes;
    std::optional<PageMover> mover;  // once it has begun
    bool fits = false, over = false;
  };
  void begin(const Ranks& ranks, StepNotes& notes);
  void begin_those_of(LocalRank rank, const RankState& state, StepNotes& notes);
  void choose();
  bool round(const Ranks& ranks, StepNotes& notes);
  bool pass(const Ranks& ranks, StepNotes& notes, std::size_t at_once);
  static bool note_step(Move& move, const Result<PageMover::Step>& step, const RankState& state,
                        StepNotes& notes);

  std::vector<Move> moves_;
  std::vector<std::pair<LocalRank, NodePair>> given_up_;  // what was noted of them is untrue
};

}  // namespace ondeloc
