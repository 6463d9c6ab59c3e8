// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include <string>

#include "mapcore/base/json_text.h"
#include "mapcore/site/account_text.h"

namespace ondeloc {
namespace {

using SiteJson = nlohmann::ordered_json;

SiteJson totals_json(const SiteTotals& totals) {
  SiteJson fates = SiteJson::object();
  for (const FateRow& row : step_fates()) fates[std::string(row.name)] = totals.of(row.fate);
  SiteJson json = {{"steps", totals.steps}, {"fates", fates}};
  for (const SiteMetric& metric : site_metrics())
    json[std::string(metric.name)] = totals.sums.*metric.field;
  return json;
}

}  // namespace

std::string site_json(const SiteView& view) {
  SiteJson groups = SiteJson::array();
  for (const SiteGroup& group : view.account.groups) {
    SiteJson one = {{"program", group.program},
                    {"user", view.user(group.user)},
                    {"partition", group.partition}};
    one.update(totals_json(group.totals));
    groups.push_back(std::move(one));
  }
  return json_text(SiteJson{{"first", view.account.first},
                            {"last", view.account.last},
                            {"total", totals_json(view.account.totals)},
                            {"groups", groups},
                            {"older_files", view.files.older},
                            {"skipped_files", view.files.skipped},
                            {"faults", view.files.faults}});
}

}  // namespace ondeloc
