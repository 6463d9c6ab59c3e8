// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/trial.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace ondeloc {
namespace {

constexpr int kLooksBefore = 2, kLooksAfter = 3, kMostLooks = 12;
constexpr double kLeastLoss = 0.01;
// The cost of the messages may be predicted to be more than the whole interval.
constexpr double kMostPromise = 0.9;
// An interval is disturbed if the mapper took this share of it more than of its quietest interval.
// In the lab a search took 10 % of an interval of 20 ms, and the ranks sent 10 % less in it.
constexpr double kDisturbs = 0.02;

// The quantile 0.995 of Student's distribution with 2 to 13 degrees of freedom. With few intervals
// their scatter is hardly known, so that a fall has to be larger.
constexpr std::array kErrors{9.92, 5.84, 4.60, 4.03, 3.71, 3.50,
                             3.36, 3.25, 3.17, 3.11, 3.05, 3.01};

double errors_needed(int freedom) {
  return kErrors[std::min(static_cast<std::size_t>(freedom) - 2, kErrors.size() - 1)];
}

}  // namespace

void Trial::Pace::add(double bytes_sent, double in_seconds) {
  ++looks;
  seconds += in_seconds;
  bytes += bytes_sent;
  squares += bytes_sent * bytes_sent / in_seconds;
}

double Trial::Pace::deviation() const { return std::max(0.0, squares - bytes * mean()); }

void Trial::add(const Look& look) {
  ++taken_in_;
  least_own_ = std::min(least_own_, look.own);
  if (look.is_new_phase) return end_phase();
  const bool is_disturbed = look.own - least_own_ > kDisturbs * look.seconds;
  if (std::exchange(skips_, false) || is_disturbed) return;
  now_.add(look.bytes, look.seconds);
  if (before_.looks == 0) return;
  if (latest_.looks == kMostLooks) {
    missed_ = not_shown();
    is_over_ = has_passed_ = true;
    latest_ = {};
  }
  latest_.add(look.bytes, look.seconds);
}

bool Trial::knows_pace() const { return is_on() || now_.looks >= kLooksBefore; }

void Trial::moved(double promised) {
  if (!is_on()) {
    before_ = knows_pace() ? now_ : Pace();
    promised_ = 0;
    is_over_ = is_unjudged_ = is_assumed_ = false;
  }
  promised_ += promised;
  brought();
}

void Trial::brought() {
  missed_.reset();
  now_ = latest_ = {};
  skips_ = true;
}

void Trial::moved_back(bool had_left_memory) {
  if (!had_left_memory) broken_ = std::max(broken_, promised_);
  forget();
  skips_ = true;
}

void Trial::end_phase() {
  const bool ends_early = is_on() && latest_.looks < kLooksAfter;
  const bool had_no_pace = before_.looks == 0 && !is_assumed_;
  had_no_result_ = had_no_result_ || ends_early;
  before_ = now_ = latest_ = {};
  missed_.reset();
  skips_ = false;
  if (promised_ <= 0) return;
  missed_ = promise();
  is_assumed_ = true;
  is_unjudged_ = is_unjudged_ || ends_early || had_no_pace;
}

void Trial::forget() {
  before_ = now_ = latest_ = {};
  missed_.reset();
  promised_ = 0;
  skips_ = is_assumed_ = is_unjudged_ = false;
}

double Trial::promise() const { return std::min(promised_, kMostPromise); }

double Trial::doubt() const {
  const int freedom = before_.looks + latest_.looks - 2;
  const double variance = (before_.deviation() + latest_.deviation()) / freedom;
  const double error = std::sqrt(variance * (1 / before_.seconds + 1 / latest_.seconds));
  return errors_needed(freedom) * error;
}

bool Trial::is_below(double share) const {
  return before_.looks > 0 && latest_.looks >= kLooksAfter &&
         share * before_.mean() - latest_.mean() > doubt();
}

std::optional<double> Trial::loss() const {
  if (!is_on() || !is_below(1)) return std::nullopt;
  const double loss = 1 - latest_.mean() / before_.mean();
  return loss > kLeastLoss ? std::optional(loss) : std::nullopt;
}

std::optional<double> Trial::shortfall() const {
  if (is_on()) return missed();
  return is_unjudged_ || knows_pace() ? missed_ : std::nullopt;
}

std::optional<double> Trial::missed() const {
  return is_below(pace_of_half()) ? std::optional(unseen()) : std::nullopt;
}

std::optional<double> Trial::not_shown() const {
  const double faster = latest_.mean() - before_.mean();
  const bool is_shown = faster > doubt() && latest_.mean() >= pace_of_half() * before_.mean();
  return is_shown || unseen() <= 0 ? std::nullopt : std::optional(unseen());
}

double Trial::pace_of_half() const { return 1 / (1 - promise() / 2); }

double Trial::unseen() const { return 1 - (1 - promise()) * latest_.mean() / before_.mean(); }

}  // namespace ondeloc
