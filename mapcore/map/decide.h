// SPDX-License-Identifier: Apache-2.0
// Whether a new mapping is worth its migrations. c = predicted cost / interval, the predicted share
// of wall time; H = for how long the present phase has been seen to last, and what is left until
// the next look if nobody moves; remap if and only if
//
//   c_now - c_new > threshold * c_now + mig / H   and   c_now - c_new > 0.001
//
// and the phase is not fleeting and the ledger does not object. The published method (Agung et al.
// 2020) remaps whenever the mapping differs: decide=always. That rule, and the inequality alone,
// which knows the present interval only, pay for a migration at every look of a program whose
// pattern changes at every look. Hence three additions, none of them published: a phase that
// follows one of a single look is waited for (PhaseClock); further migrations have to pay off
// against the mapping at the start once they are not covered by what was saved (Ledger); and before
// anything else the loop goes back to the start once it has lost more than that costs.
//
// What this guarantees on any series: start's cost + 1 % + four migrations of all ranks + what is
// lost between two looks (a test). Less cannot be had together with being near the best static
// mapping from the second interval on: of two series that begin alike, the second interval of one
// punishes staying, that of the other moving (a test shows such a pair). Thread safety: values;
// PhaseClock and Ledger are for one thread.
#pragma once

#include <span>

#include "mapcore/map/cost.h"

namespace ondeloc {

struct DecisionInput {
  double cost_now = 0;           // seconds
  double cost_new = 0;           // seconds
  double interval = 0;           // L, seconds, > 0
  double horizon = 0;            // H, seconds, >= L
  double migration_seconds = 0;  // mig
  double threshold = 0.02;
};

bool worth_remapping(const DecisionInput& input);

// The part of H that is still to come: seconds until the next look if nobody moves after one that
// came `seconds` after the last (mapper/interval.h). `longest`: the cap, seconds.
double until_next_look(double seconds, double slope, double longest);

// mig: moved ranks' own bytes in memory over the slower of memory and link where memory follows; 1
// ms for every rank that changes its slot otherwise. `resident` may be empty (then 1 ms each).
double migration_seconds(const CostModel& model, const SlotSet& slots, const Mapping& before,
                         const Mapping& after, std::span<const double> resident,
                         bool memory_follows);

// Seconds since the cosine of this interval's and the last interval's traffic fell below 0.9,
// silent intervals left out: a pause is no other phase, and nothing is gained while it lasts.
class PhaseClock {
 public:
  // `seconds` = length of the interval that `traffic` was seen in. Returns at least that.
  double advance(const Traffic& traffic, double seconds);
  // The phase before lasted no longer than one look, and this one has been seen once: whatever is
  // decided for it would come too late.
  bool is_fleeting() const { return looks_ == 1 && ended_looks_ == 1; }

 private:
  Traffic last_;
  double age_ = 0;
  int looks_ = 0, ended_looks_ = 0;
};

// Keeps the loop from paying again and again for phases that end before their migrations have paid
// (the argument of ski rental: A. R. Karlin et al., Algorithmica 3, 1988). It adds up the predicted
// seconds of what was in force, migrations included, and of the mapping at the start. One remap is
// on credit; a further one that would bring the sum more than 1 % above the start's has to gain
// against the start mapping, not only against the present one.
class Ledger {
 public:
  void add(double cost_now, double cost_start);
  void add_migration(double seconds);
  // What a new mapping is to be taken to cost on traffic that costs `cost_start` under the start
  // mapping.
  double cost_to_count(double cost_new, double cost_start, double migration) const;
  // More was lost than going back to the start would cost.
  bool should_go_back(double migration) const;

 private:
  double own_ = 0, start_ = 0;
  double credit_ = -1;  // the first migration; negative before there was one
};

}  // namespace ondeloc
