// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/ledger.h"

#include <algorithm>

namespace ondeloc {
namespace {

constexpr double kMostLoss = 0.01;  // of the start mapping's cost

}  // namespace

void Ledger::add(double cost_now, double cost_start) {
  own_ += cost_now;
  start_ += cost_start;
}

void Ledger::add_migration(double seconds) {
  own_ += seconds;
  if (credit_ < 0) credit_ = seconds;
}

bool Ledger::should_go_back(double migration) const {
  return balance() - credit_ > std::max(migration, kMostLoss / 2 * start_) && credit_ >= 0;
}

double Ledger::cost_to_count(double cost_new, double cost_start, double migration) const {
  const bool affordable = credit_ < 0 || own_ + migration <= (1 + kMostLoss) * start_ + credit_;
  return affordable ? cost_new : std::max(cost_new, cost_start);
}

}  // namespace ondeloc
