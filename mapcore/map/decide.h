// SPDX-License-Identifier: Apache-2.0
// Whether a new mapping is worth its migrations. c = predicted cost / interval, the predicted share
// of wall time; H = for how long the present phase has been seen to last; remap if and only if
//
//   c_now - c_new > threshold * c_now + mig / H   and   c_now - c_new > 0.001
//
// The published method (Agung et al. 2020) remaps whenever the mapping differs: decide=always.
// Thread safety: values; PhaseClock is for one thread.
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

// mig: moved ranks' resident bytes over the slower of memory and link where memory follows; 1 ms
// for every rank that changes its slot otherwise. `resident` may be empty (then 1 ms each).
double migration_seconds(const CostModel& model, const SlotSet& slots, const Mapping& before,
                         const Mapping& after, std::span<const double> resident,
                         bool memory_follows);

// H: seconds since the cosine of this interval's and the last interval's traffic fell below 0.9.
class PhaseClock {
 public:
  // `seconds` = length of the interval that `traffic` was seen in. Returns H >= seconds.
  double advance(const Traffic& traffic, double seconds);

 private:
  Traffic last_;
  double age_ = 0;
};

}  // namespace ondeloc
