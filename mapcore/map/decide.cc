// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/decide.h"

#include <algorithm>

namespace ondeloc {
namespace {

constexpr double kLeastGain = 0.001;       // of wall time
constexpr double kSecondsPerMove = 0.001;  // caches to refill, nothing to copy
constexpr double kSamePhase = 0.9;         // cosine
constexpr double kMostLoss = 0.01;         // of what the start mapping costs

}  // namespace

bool worth_remapping(const DecisionInput& input) {
  const double now = input.cost_now / input.interval;
  const double gain = now - input.cost_new / input.interval;
  return gain > input.threshold * now + input.migration_seconds / input.horizon &&
         gain > kLeastGain;
}

double until_next_look(double seconds, double slope, double longest) {
  return std::min(slope * seconds, longest);
}

double migration_seconds(const CostModel& model, const SlotSet& slots, const Mapping& before,
                         const Mapping& after, std::span<const double> resident,
                         bool memory_follows) {
  double seconds = 0;
  for (std::size_t i = 0; i < after.size(); ++i) {
    if (before[i] == after[i]) continue;
    const auto from =
        static_cast<std::size_t>(slots[static_cast<std::size_t>(before[i].value)].node.value);
    const auto to =
        static_cast<std::size_t>(slots[static_cast<std::size_t>(after[i].value)].node.value);
    const bool copies = memory_follows && from != to && i < resident.size();
    const double rate = std::min(model.bandwidth[to],
                                 model.link[from * static_cast<std::size_t>(model.nodes) + to]);
    seconds += copies ? resident[i] / rate : kSecondsPerMove;
  }
  return seconds;
}

double PhaseClock::advance(const Traffic& traffic, double seconds) {
  // Where there never was any the ranks may talk to other nodes all the time.
  const bool talked = last_.total() > 0;
  if (traffic.total() == 0 && talked) return std::max(age_, seconds);
  if (cosine(traffic, last_) < kSamePhase) {
    ended_looks_ = talked ? looks_ : 0;
    age_ = 0;
    looks_ = 0;
  }
  age_ += seconds;
  ++looks_;
  last_ = traffic;
  return std::max(age_, seconds);
}

void Ledger::add(double cost_now, double cost_start) {
  own_ += cost_now;
  start_ += cost_start;
}

void Ledger::add_migration(double seconds) {
  own_ += seconds;
  if (credit_ < 0) credit_ = seconds;
}

bool Ledger::should_go_back(double migration) const {
  return own_ - credit_ - start_ > std::max(migration, kMostLoss / 2 * start_) && credit_ >= 0;
}

double Ledger::cost_to_count(double cost_new, double cost_start, double migration) const {
  const bool affordable = credit_ < 0 || own_ + migration <= (1 + kMostLoss) * start_ + credit_;
  return affordable ? cost_new : std::max(cost_new, cost_start);
}

}  // namespace ondeloc
