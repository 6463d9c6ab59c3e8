// SPDX-License-Identifier: Apache-2.0
// Any text as a report of a site's directory: every format of the account keeps its lines.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "mapcore/site/account_text.h"
#include "mapcore/site/when.h"

namespace {

std::size_t lines_of(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ondeloc;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)parse_since(text, 1'000'000);
  const auto run = parse_report_run(text, "fuzz", ReportParts::kSums);
  if (!run) return 0;
  SiteFiles files;
  files.reports = {site_report_of(*run, 0, 1)};
  const SiteAccount account = account_of(steps_of(files.reports));
  const SiteView view{files, account, [](uid_t user) { return std::to_string(user); }, ""};
  for (const SiteMetric& metric : site_metrics())
    if (!std::isfinite(account.totals.sums.*metric.field)) std::abort();
  if (lines_of(site_influx(view)) != site_metrics().size()) std::abort();
  if (lines_of(site_prometheus(view)) != 3 * (site_metrics().size() + 2)) std::abort();
  if (site_text(view).empty() || site_json(view).empty()) std::abort();
  return 0;
}
