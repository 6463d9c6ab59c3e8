// SPDX-License-Identifier: Apache-2.0
// The account of a site: steps summed by program, user and partition. Thread safety: pure
// functions.
#pragma once

#include <array>
#include <cstddef>
#include <ctime>
#include <string>
#include <vector>

#include "mapcore/site/site_report.h"

namespace ondeloc {

inline constexpr std::size_t kStepFates = static_cast<std::size_t>(StepFate::kUnfinished) + 1;

struct SiteTotals {
  std::size_t steps = 0;
  std::array<std::size_t, kStepFates> fates{};  // steps of each fate
  SiteSums sums;

  std::size_t of(StepFate fate) const { return fates[static_cast<std::size_t>(fate)]; }
  SiteTotals& operator+=(const SiteTotals& other);
};

// Steps that have program, user and partition in common.
struct SiteGroup {
  std::string program, partition;  // "unknown" if the reports do not tell
  uid_t user = 0;
  SiteTotals totals;
};

struct SiteAccount {
  std::vector<SiteGroup> groups;  // in the order of program, user and partition
  SiteTotals totals;
  std::time_t first = 0, last = 0;  // when reports were written; 0: there are none
};

SiteAccount account_of(const std::vector<SiteStep>& steps);

}  // namespace ondeloc
