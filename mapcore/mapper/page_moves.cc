// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/page_moves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <future>
#include <system_error>

#include "mapcore/binding/memory.h"
#include "mapcore/mapper/free_memory.h"

namespace ondeloc {
namespace {

constexpr std::size_t kMostAtOnce = 16;  // pieces of 16 MiB, of one rank each

std::string stayed(const NodePair& nodes, const std::string& why) {
  return fmt::format("pages stayed on NUMA node {}: {}", nodes.from, why);
}

std::string no_room(const NodePair& nodes) {
  return stayed(nodes, fmt::format("node {} has no room", nodes.to));
}

bool has(std::span<const int> nodes, int node) {
  return std::find(nodes.begin(), nodes.end(), node) != nodes.end();
}

// Returns the pair of nodes that begins at `node`, or null.
const NodePair* pair_from(std::span<const NodePair> fresh, int node) {
  const auto found = std::find_if(fresh.begin(), fresh.end(),
                                  [&](const NodePair& pair) { return pair.from == node; });
  return found != fresh.end() ? &*found : nullptr;
}

// Returns the new target of pages that were moving to `node`.
int target_of(int node, std::span<const NodePair> fresh, std::span<const int> after) {
  if (has(after, node)) return node;
  const NodePair* next = pair_from(fresh, node);
  return next != nullptr ? next->to : after.front();
}

void note_result(const PageMover& mover, const RankState& state, const NodePair& nodes,
                 StepNotes& notes) {
  const std::string why = about_pages_left(mover.left(), mover.bytes_at_first());
  if (!why.empty()) notes.add(state.world, stayed(nodes, why));
}

// One step of each mover, the first one in this thread.
std::vector<Result<PageMover::Step>> step_together(std::span<PageMover* const> movers) {
  using Step = Result<PageMover::Step>;
  std::vector<std::future<Step>> others;
  for (PageMover* mover : movers.subspan(1)) {
    const auto step = [mover, count = movers.size()] { return mover->step(count); };
    try {
      others.push_back(std::async(std::launch::async, step));
    } catch (const std::system_error&) {  // no thread to be had: ulimit -u, pids.max
      others.push_back(std::async(std::launch::deferred, step));
    }
  }
  std::vector<Step> steps;
  steps.push_back(movers.front()->step(movers.size()));
  for (std::future<Step>& other : others) steps.push_back(other.get());
  return steps;
}

}  // namespace

std::vector<NodePair> PageMoves::of(LocalRank rank) const {
  std::vector<NodePair> pairs;
  for (const Move& move : moves_) {
    if (move.rank == rank) pairs.push_back(move.nodes);
  }
  return pairs;
}

void PageMoves::add(LocalRank rank, std::span<const int> before, std::span<const int> after) {
  const std::vector<NodePair> fresh = node_pairs(before, after);
  std::vector<NodePair> pairs = fresh;
  for (const NodePair& old : of(rank)) {
    if (after.empty() || has(after, old.from) || pair_from(fresh, old.from) != nullptr) continue;
    pairs.push_back({old.from, target_of(old.to, fresh, after)});
  }
  std::erase_if(moves_, [&](const Move& move) {
    if (move.rank == rank) given_up_.emplace_back(rank, move.nodes);
    return move.rank == rank;
  });
  for (const NodePair& nodes : pairs) moves_.push_back({rank, nodes, {}});
}

void PageMoves::begin_those_of(LocalRank rank, const RankState& state, StepNotes& notes) {
  const auto texts = read_page_texts(state.process);
  bool interleaved = false;
  for (Move& move : moves_) {
    if (!(move.rank == rank) || move.mover) continue;
    move.mover.emplace(state.process, texts, move.nodes.from, move.nodes.to);
    interleaved = interleaved || move.mover->interleaved();
  }
  if (interleaved) notes.add(state.world, "interleaved pages stay where they are");
}

void PageMoves::begin(const Ranks& ranks, StepNotes& notes) {
  const auto state_of = [&](const Move& move) -> const RankState& { return ranks.at(move.rank); };
  std::erase_if(moves_, [&](const Move& move) { return !state_of(move).movable(); });
  for (const Move& move : moves_) {
    if (!move.mover) begin_those_of(move.rank, state_of(move), notes);
  }
}

void PageMoves::choose() {
  std::vector<PageFlow> flows;
  for (const Move& move : moves_)
    flows.push_back({move.nodes.from, move.nodes.to, move.mover->bytes()});
  const std::vector<bool> fit = flows_that_fit(flows, room_for_pages);
  for (std::size_t i = 0; i < moves_.size(); ++i) moves_[i].fits = fit[i];
}

// True if pages moved or the move ended.
bool PageMoves::note_step(Move& move, const Result<PageMover::Step>& step, const RankState& state,
                          StepNotes& notes) {
  // A rank may end before all of its pages have followed. The note is untrue already.
  if (step && *step != PageMover::Step::kNoRoom) notes.remove(state.world, no_room(move.nodes));
  if (step && *step != PageMover::Step::kDone) return *step == PageMover::Step::kMoved;
  move.over = true;
  if (step)
    note_result(*move.mover, state, move.nodes, notes);
  else if (step.error().code() != ESRCH)  // it has ended meanwhile
    notes.add(state.world, stayed(move.nodes, step.error().message()));
  return true;
}

// A piece of each move, `at_once` of them at the same time.
bool PageMoves::pass(const Ranks& ranks, StepNotes& notes, std::size_t at_once) {
  std::vector<Move*> turn;
  for (Move& move : moves_)
    if (move.fits && !move.over) turn.push_back(&move);
  bool moved = false;
  for (std::size_t begin = 0; begin < turn.size(); begin += at_once) {
    const auto together = std::span(turn).subspan(begin, std::min(at_once, turn.size() - begin));
    std::vector<PageMover*> movers;
    for (Move* move : together) movers.push_back(&*move->mover);
    const auto steps = step_together(movers);
    for (std::size_t i = 0; i < together.size(); ++i)
      moved |= note_step(*together[i], steps[i], ranks.at(together[i]->rank), notes);
  }
  return moved;
}

// True if pages moved: other pages that had no room may have room now.
bool PageMoves::round(const Ranks& ranks, StepNotes& notes) {
  choose();
  bool moved = false;
  while (pass(ranks, notes, kMostAtOnce) || pass(ranks, notes, 1)) moved = true;
  std::erase_if(moves_, [](const Move& move) { return move.over; });
  return moved && !empty();
}

void PageMoves::run(const Ranks& ranks, StepNotes& notes) {
  begin(ranks, notes);
  while (round(ranks, notes)) {
  }
  for (const auto& [rank, nodes] : given_up_) notes.remove(ranks.at(rank).world, no_room(nodes));
  given_up_.clear();
  for (const Move& move : moves_) notes.add(ranks.at(move.rank).world, no_room(move.nodes));
}

}  // namespace ondeloc
