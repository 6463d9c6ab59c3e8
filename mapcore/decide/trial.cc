// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/trial.h"

#include <algorithm>
#include <cmath>

namespace ondeloc {
namespace {

constexpr int kLooksBefore = 2, kLooksAfter = 4, kMostLooks = 12;
constexpr double kLeastLoss = 0.01;
constexpr double kErrors = 3;  // standard errors

}  // namespace

void Trial::Pace::add(double pace) {
  ++looks;
  sum += pace;
  squares += pace * pace;
}

double Trial::Pace::deviation() const { return std::max(0.0, squares - sum * mean()); }

void Trial::add(double bytes, double seconds, bool is_new_phase) {
  ++taken_in_;
  if (is_new_phase) return forget();
  if (skips_) {
    skips_ = false;
    return;
  }
  now_.add(bytes / seconds);
  if (is_on() && now_.looks > kMostLooks) {
    before_ = {};
    has_passed_ = true;
  }
}

bool Trial::knows_pace() const { return is_on() || now_.looks >= kLooksBefore; }

void Trial::moved(double promised) {
  if (!is_on() && knows_pace()) {
    before_ = now_;
    promised_ = 0;
  }
  promised_ += promised;
  now_ = {};
  skips_ = true;
}

void Trial::moved_back() {
  broken_ = std::max(broken_, promised_);
  forget();
  skips_ = true;
}

void Trial::forget() {
  before_ = now_ = {};
  skips_ = false;
}

std::optional<double> Trial::loss() const {
  if (!is_on() || now_.looks < kLooksAfter) return std::nullopt;
  const double fall = before_.mean() - now_.mean();
  const double variance =
      (before_.deviation() + now_.deviation()) / (before_.looks + now_.looks - 2);
  const double error = std::sqrt(variance * (1.0 / before_.looks + 1.0 / now_.looks));
  if (fall <= kLeastLoss * before_.mean() || fall <= kErrors * error) return std::nullopt;
  return fall / before_.mean();
}

}  // namespace ondeloc
