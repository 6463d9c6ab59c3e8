// SPDX-License-Identifier: Apache-2.0
// Decides if a new mapping is worth its migrations. The online mapper and `ondeloc replay` both ask
// this class, and nothing else decides.
//
// With L = length of the interval, c = predicted cost of its traffic, and H = age of the phase plus
// the time until the next decision if no rank moves, a new mapping is applied if and only if
//
//   c_now - c_new > max(threshold * c_now + migration * L / H, least_gain * L)
//
// and the phase is not fleeting and the ledger does not object. The published method (Agung et al.
// 2020) remaps whenever the mapping differs (decide=always). That rule pays for a migration at
// every look of a program whose pattern changes at every look, and so does the inequality alone,
// which knows the present interval only. Three additions prevent this; none of them is published. A
// phase that follows a phase of a single look is waited for (PhaseClock). Once the savings do not
// cover further migrations, these have to pay off against the mapping at the start (Ledger). The
// loop returns to the start as soon as it has lost more than the return costs.
//
// All these numbers are predicted. The mapper also asks what the program itself says (Trial): if
// the ranks sent less in a second after moves than before them, they move back, and a further gain
// has to be twice the gain that was promised. If the ranks left memory behind, and the program
// saves less than half of the promised time, their memory is brought first, or later in the phase.
// In a later phase, whose pace is another one, they are taken to save nothing without it, and to
// save with it what the model predicts there. If no phase was long enough to judge the moves, the
// memory has to pay over all the time since then, not over the present phase. If the memory costs
// too much so early, the ranks may move back, and later once more with it. For all this it needs
// the pace before the moves. So the search and the moves wait until that pace is known, which takes
// three looks at a phase, but not longer than the first six looks of the run. Where only moves that
// are judged leave memory behind, they wait so in each new phase, until two phases in a row end
// before their pace is known. A replay cannot do so, because the recorded pace is that of the
// recorded mapping.
//
// Guarantee for any series (a test): the cost of the start mapping + 1 % + four migrations of all
// ranks + the loss between two looks. A better bound would contradict being near the best static
// mapping from the second interval on: of two series that begin alike, the second interval of one
// punishes staying and that of the other punishes moving (a test shows such a pair).
// Thread safety: for one thread. The result depends on the history of calls only.
#pragma once

#include <functional>
#include <optional>
#include <span>

#include "mapcore/decide/interval.h"
#include "mapcore/decide/ledger.h"
#include "mapcore/decide/phase_clock.h"
#include "mapcore/decide/trial.h"
#include "mapcore/options/options.h"

namespace ondeloc {

enum class DecisionKind {
  kWaits,
  kSilent,
  kFixed,
  kCheap,
  kNearBest,
  kEarly,
  kFailed,
  kKeeps,
  kSmall,
  kFleeting,
  kUnpaid,
  kNoRoom,
  kFew,
  kWatched,
  kRemaps,
  kReturns,
  kSlower,
  kBrings,
  kRepeats,
  kFollows
};

struct DecisionInfo {
  DecisionKind kind;
  const char* name;
  const char* meaning;  // for a person, at most 70 characters
};
// In the order of the enum.
std::span<const DecisionInfo> decisions();
const char* name_of(DecisionKind kind);

// All numbers are predicted seconds, for the traffic of the interval. The gains of kSlower and
// kBrings are measured, for an interval of this length: the time that the way back saves, and the
// part of the promised time that the moves did not save. In a phase after that of the moves
// kBrings has all of it, and in silence the time that far memory may cost.
struct Decision {
  DecisionKind kind = DecisionKind::kWaits;
  double gain = 0;       // of the candidate against the present mapping; < 0: it is worse
  double threshold = 0;  // the gain has to exceed it; without migration while that is not needed
  double migration = 0;  // price of moving to the candidate; 0 while it is not needed
  double horizon = 0;    // H, seconds of wall time
  double ledger = 0;     // lost (> 0) or saved (< 0) so far against the start, before this decision
  bool moves() const {
    return kind == DecisionKind::kRemaps || kind == DecisionKind::kReturns ||
           kind == DecisionKind::kSlower;
  }
  // Ranks or their memory move, at the price `migration`.
  bool acts() const { return moves() || kind == DecisionKind::kBrings; }
};

// The rule compares the gain of a mapping with its price; other rules look at the moves alone.
constexpr bool weighs_gain(Decide rule) { return rule == Decide::kAuto || rule == Decide::kNever; }

// rule: kAuto is the inequality above; kAlways applies every mapping that changes CPUs, as
// published; kMany every mapping that changes the NUMA node of more than ranks / nodes ranks, as
// the published program does (github.com/Tohoku-University-Takizawa-Lab/openmpi-3.1.4-deloc).
struct DeciderOptions {
  double threshold = Options().threshold;    // share of the present cost
  double least_gain = Options().least_gain;  // share of the interval
  // Seconds between two looks.
  IntervalRule interval{Options().interval_ms / 1e3, Options().max_interval_ms / 1e3,
                        Options().slope};
  Decide rule = Decide::kAuto;  // kNever: as kAuto, and kWatched for a move
  bool tries = false;           // judges moves by the program's pace; kAuto only
};

// One interval as it was counted.
struct Observation {
  const Traffic& traffic;
  double seconds;         // L, > 0
  double cost_now;        // predicted seconds under the mapping in force
  double cost_start;      // under the mapping at the start
  bool is_fixed = false;  // no rank may be moved
  double sent = 0;        // bytes that the ranks sent, to other nodes too; for the pace
  double own = 0;         // CPU seconds that the mapper itself took
  // Moves leave memory behind only if they are judged: each new phase is worth a wait for its pace.
  bool wants_pace = false;
};

// A mapping that could be applied. The functions are called only if the decision depends on them:
// to ask for the memory of all ranks takes longer than the rest of an interval.
struct Candidate {
  double cost = 0;                    // predicted seconds of the interval's traffic
  bool changes_cpus = false;          // of some rank
  bool moves_many = false;            // to another NUMA node: more than ranks / nodes ranks
  std::function<double()> migration;  // predicted seconds
  std::function<bool()> has_room;     // memory can follow; empty: it can
  bool is_ruled_out = false;          // no mapping gains gain_needed(): KnownAnswer
};

class Decider {
 public:
  explicit Decider(const DeciderOptions& options) : options_(options) {}

  // Takes in an interval; to be called once for each, before decide(). Returns the decision if it
  // is clear without a candidate: silent or fixed.
  std::optional<Decision> observe(const Observation& seen);
  // False if no wanted mapping could be applied now: its whole cost is less than the gain that is
  // needed, or the pace without moves has to be known first. Then the mapper does not search, and
  // decide() takes an empty candidate: a search takes CPU time from ranks, and would spoil that
  // pace. A replay searches all the same: its reader wants to see what the algorithm would have
  // found.
  bool asks_for_mapping() const { return !is_too_cheap() && !waits_for_pace(); }
  // The seconds that a mapping has to gain in the present interval, migrations not included; 0 if
  // the rule does not ask for a gain.
  double gain_needed() const { return gain_needed(0); }
  // `wanted`: the algorithm's mapping; `start`: the way back to the mapping at the start; `tried`:
  // the way back to the mapping that was in force when is_on_trial() was false for the last time;
  // `bringing`: the memory that moved ranks left behind comes to them; its cost is that of the
  // mapping under which this memory is near, and it changes CPUs if there is such memory. If the
  // decision moves ranks, the caller applies that mapping: the ledger counts its migration. After
  // kBrings the caller brings the memory. After kBrings, and after kSlower if memory was left
  // behind, the prices of all moves to come have to contain the memory.
  Decision decide(const Candidate& wanted, const Candidate& start, const Candidate& tried = {},
                  const Candidate& bringing = {});
  // To be called if observe() returned kSilent: nobody sees then whether the ranks need the memory
  // that they left behind. It comes once one twentieth of the silence exceeds its price.
  // `bringing`: as for decide().
  std::optional<Decision> bring_in_silence(const Candidate& bringing);
  // When the next interval should end; to be called after the decision for the present one.
  NextLook next_look(const Decision& decision) const;
  // Moves were made and are not yet judged.
  bool is_on_trial() const { return trial_.is_on(); }
  // Moves that come now will be judged by the program's pace, as far as anybody knows. Then they
  // may leave memory behind. False for good once a pattern changed before its moves were judged:
  // such a program would move again and again away from its memory.
  bool judges_moves() const { return tries() && trial_.knows_pace() && !trial_.had_no_result(); }
  // The numbers of the present interval with another kind: the algorithm failed.
  Decision undecided(DecisionKind kind) const;
  // To be called if the slots are new: losses and savings with the old slots do not count any more.
  void forget_costs() {
    ledger_ = {};
    trial_.forget();
  }

 private:
  Decision judge(const Candidate& wanted) const;
  DecisionKind weigh(const Candidate& wanted, const Decision& numbers) const;
  std::optional<Decision> way_back(const Candidate& start) const;
  std::optional<Decision> bring(const Candidate& bringing) const;
  std::optional<Decision> undo(const Candidate& tried) const;
  Decision measured(DecisionKind kind, double share, double migration, double horizon) const;
  void note_moves(const Decision& decision, bool has_left_memory);
  double age_of_phase(const Observation& seen);
  double until_next_look() const;  // seconds, if no rank moves
  bool waits_for_pace() const;
  bool waits_in_phase() const;
  bool tries() const { return options_.tries && options_.rule == Decide::kAuto; }
  bool is_too_cheap() const { return weighs_gain() && cost_now_ <= gain_needed(0); }
  double gain_needed(double migration) const;  // seconds
  bool weighs_gain() const { return ondeloc::weighs_gain(options_.rule); }

  DeciderOptions options_;
  PhaseClock phase_;
  Ledger ledger_;
  Trial trial_;
  double seconds_ = 0, cost_now_ = 0, cost_start_ = 0, horizon_ = 0;  // of the present interval
  double since_moves_ = 0, silence_ = 0;                              // seconds
  bool wants_pace_ = false;                                           // in the present interval
  int waits_in_vain_ = 0;  // phases in a row that ended before their pace was known
};

}  // namespace ondeloc
