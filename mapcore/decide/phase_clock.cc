// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/phase_clock.h"

#include <algorithm>

namespace ondeloc {
namespace {

constexpr double kSamePhase = 0.9;  // cosine
constexpr int kCalm = 4;            // intervals

}  // namespace

double PhaseClock::advance(const Traffic& traffic, double seconds) {
  // If no rank ever sent to another rank of the node, all traffic may leave the node: time counts.
  const bool talked = last_.total() > 0;
  if (traffic.total() == 0 && talked) {
    ++silent_looks_;
    return pause(seconds);
  }
  ends_calm_ = false;
  if (last_.cosine(traffic) < kSamePhase) {
    ends_calm_ = !talked || looks_ >= kCalm || silent_looks_ >= kCalm;
    ended_looks_ = talked ? looks_ : 0;
    age_ = 0;
    looks_ = 0;
  }
  age_ += seconds;
  ++looks_;
  is_new_ = looks_ == 1;
  silent_looks_ = 0;
  last_.keep(traffic);
  return std::max(age_, seconds);
}

double PhaseClock::pause(double seconds) {
  is_new_ = ends_calm_ = false;
  return std::max(age_, seconds);
}

}  // namespace ondeloc
