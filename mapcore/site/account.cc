// SPDX-License-Identifier: Apache-2.0
#include "mapcore/site/account.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "mapcore/base/printable.h"

namespace ondeloc {
namespace {

constexpr std::size_t kMostName = 100;  // bytes of a program's name in tables and labels

std::string label_of(const std::string& text) {
  return text.empty() ? "unknown" : text.substr(0, cut_length(text, kMostName));
}

SiteTotals totals_of(const SiteStep& step) {
  SiteTotals totals;
  totals.steps = 1;
  totals.fates[static_cast<std::size_t>(step.fate)] = 1;
  totals.sums = step.sums;
  return totals;
}

}  // namespace

SiteTotals& SiteTotals::operator+=(const SiteTotals& other) {
  steps += other.steps;
  for (std::size_t fate = 0; fate < kStepFates; ++fate) fates[fate] += other.fates[fate];
  sums += other.sums;
  return *this;
}

SiteAccount account_of(const std::vector<SiteStep>& steps) {
  SiteAccount account;
  std::map<std::tuple<std::string, uid_t, std::string>, SiteTotals> groups;
  for (const SiteStep& step : steps) {
    const SiteTotals totals = totals_of(step);
    groups[{label_of(step.program), step.user, label_of(step.partition)}] += totals;
    account.totals += totals;
    account.first = account.first == 0 ? step.written : std::min(account.first, step.written);
    account.last = std::max(account.last, step.written);
  }
  for (const auto& [key, totals] : groups)
    account.groups.push_back({std::get<0>(key), std::get<2>(key), std::get<1>(key), totals});
  return account;
}

}  // namespace ondeloc
