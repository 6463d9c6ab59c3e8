// SPDX-License-Identifier: Apache-2.0
// For how long the communication pattern has stayed the same. Thread safety: a value, one thread.
#pragma once

#include "mapcore/comm/pattern.h"

namespace ondeloc {

// A new phase begins when the cosine between the traffic of two successive intervals falls below
// 0.9. Silent intervals are skipped: a pause does not end a phase.
class PhaseClock {
 public:
  // Takes in the traffic of an interval of `seconds`. Returns the age of the phase, seconds, at
  // least `seconds`.
  double advance(const Traffic& traffic, double seconds);
  // Takes in an interval whose traffic tells nothing about the pattern. Returns the same as
  // advance(); the phase does not end, and does not grow older.
  double pause(double seconds);
  // True if the previous phase lasted for one interval only and the present phase was seen in one
  // interval so far: a mapping for the present phase would probably come too late.
  bool is_fleeting() const { return looks_ == 1 && ended_looks_ == 1; }
  // True in the first six intervals of the phase. Pauses do not count.
  bool is_young() const { return looks_ <= 6; }
  // True if the last interval was the first one of its phase.
  bool is_new() const { return is_new_; }
  // True if it also ended a phase or a silence of at least four intervals, or was the first one
  // with messages. Patterns that take turns are no news.
  bool ends_calm() const { return ends_calm_; }

 private:
  Pattern last_;
  double age_ = 0;
  int looks_ = 0, ended_looks_ = 0, silent_looks_ = 0;
  bool is_new_ = false, ends_calm_ = false;
};

}  // namespace ondeloc
