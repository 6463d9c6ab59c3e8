// SPDX-License-Identifier: Apache-2.0
#include "mapcore/site/account_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <utility>

#include "mapcore/base/escaped.h"
#include "mapcore/base/joules_text.h"
#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"
#include "mapcore/site/when.h"

namespace ondeloc {
namespace {

constexpr std::size_t kNameWidth = 18;

// "3.2 h": sums over a month are too long for seconds.
std::string hours_text(double seconds) {
  if (seconds < 0) return fmt::format("-{}", hours_text(-seconds));
  if (seconds < 3600) return seconds_text(seconds);
  return number_text(seconds / 3600) + " h";
}

std::string percent_of(double part, double whole) {
  return whole > 0 ? percent_text(part / whole) : "0 %";
}

struct Row {
  std::string name;
  SiteTotals totals;
};

// The rows with most to gain first, then those with most time.
std::vector<Row> rows_by(const SiteView& view,
                         const std::function<std::string(const SiteGroup&)>& name) {
  std::map<std::string, SiteTotals> sums;
  for (const SiteGroup& group : view.account.groups) sums[name(group)] += group.totals;
  std::vector<Row> rows;
  for (auto& [key, totals] : sums) rows.push_back({key, totals});
  const auto gain = [](const Row& row) { return row.totals.sums.saved + row.totals.sums.missed; };
  std::stable_sort(rows.begin(), rows.end(), [&](const Row& a, const Row& b) {
    return std::pair(gain(a), a.totals.sums.seconds) > std::pair(gain(b), b.totals.sums.seconds);
  });
  return rows;
}

// The column is there if any report tells energy.
std::string energy_cell(const SiteSums& of_all, const std::string& text) {
  return of_all.energy_reports > 0 ? fmt::format(" {:>9}", text) : "";
}

std::string row_text(const std::string& name, const SiteTotals& totals, const SiteSums& of_all) {
  const SiteSums& sums = totals.sums;
  // A long name has a line of its own.
  const bool fits = name.size() <= kNameWidth;
  const std::string above = fits ? "" : name + "\n", shown = fits ? name : "";
  return above + fmt::format("{:<{}} {:>5} {:>5} {:>6} {:>6} {:>9} {:>9} {:>9} {:>9}{}\n", shown,
                             kNameWidth, totals.steps, totals.of(StepFate::kMoved),
                             totals.of(StepFate::kMissed),
                             totals.of(StepFate::kUncounted) + totals.of(StepFate::kUnfinished),
                             hours_text(sums.seconds), hours_text(sums.saved),
                             hours_text(sums.missed), hours_text(sums.mapper_cpu),
                             energy_cell(of_all, joules_text(sums.package_joules)));
}

std::string table_text(const SiteView& view, const char* title,
                       const std::function<std::string(const SiteGroup&)>& name) {
  const std::vector<Row> rows = rows_by(view, name);
  const SiteSums& of_all = view.account.totals.sums;
  std::string text =
      fmt::format("\n{:<{}} {:>5} {:>5} {:>6} {:>6} {:>9} {:>9} {:>9} {:>9}{}\n", title, kNameWidth,
                  "steps", "moved", "missed", "failed", "node time", "saved", "not saved", "CPU",
                  energy_cell(of_all, "energy"));
  for (std::size_t i = 0; i < std::min(rows.size(), view.most_rows); ++i)
    text += row_text(rows[i].name, rows[i].totals, of_all);
  if (rows.size() > view.most_rows)
    text += fmt::format("and {} more (--top shows more rows)\n", rows.size() - view.most_rows);
  return text;
}

std::string fates_text(const SiteTotals& totals) {
  std::string text;
  for (const FateRow& row : step_fates())
    if (totals.of(row.fate) > 0)
      text += fmt::format("{:>8} {:<10} {}\n", totals.of(row.fate), row.name, row.meaning);
  return text;
}

std::string energy_text(const SiteSums& sums) {
  if (sums.energy_reports <= 0) return "";
  return fmt::format("energy of the nodes, as {} of {} reports tell: packages {}, memory {}\n",
                     sums.energy_reports, sums.reports, joules_text(sums.package_joules),
                     joules_text(sums.dram_joules));
}

std::string misses_text(const SiteSums& sums) {
  if (sums.counter_reports <= 0) return "";
  return fmt::format("cache misses of the ranks, as {} of {} reports tell: {:.4g}\n",
                     sums.counter_reports, sums.reports, sums.cache_misses);
}

std::string head_text(const SiteView& view) {
  const SiteTotals& totals = view.account.totals;
  const SiteSums& sums = totals.sums;
  if (totals.steps == 0) return "no report\n";
  std::string text = fmt::format("{} in {}, {} to {}\n", counted(totals.steps, "step"),
                                 counted(view.files.reports.size(), "report"),
                                 date_text(view.account.first), date_text(view.account.last));
  text += fmt::format("cost: the mappers took {} of CPU in {} of node time ({})\n",
                      hours_text(sums.mapper_cpu), hours_text(sums.seconds),
                      percent_of(sums.mapper_cpu, sums.seconds));
  const double saved = std::abs(sums.saved);
  text += fmt::format(
      "gain, predicted: moves {} {} of node time ({}); {} more could have been saved ({})\n",
      sums.saved >= 0 ? "saved" : "cost", hours_text(saved), percent_of(saved, sums.seconds),
      hours_text(sums.missed), percent_of(sums.missed, sums.seconds));
  return text + energy_text(sums) + misses_text(sums) + fates_text(totals);
}

std::string skipped_text(const SiteFiles& files) {
  if (files.skipped == 0) return "";
  std::string text = fmt::format("\n{} skipped\n", counted(files.skipped, "file"));
  for (const std::string& fault : files.faults) text += "  " + fault + "\n";
  return text;
}

std::string labels_of(const SiteView& view, const SiteGroup& group) {
  const auto quoted = [](const std::string& text) { return escaped(text, "\"\\"); };
  return fmt::format("program=\"{}\",user=\"{}\",partition=\"{}\"", quoted(group.program),
                     quoted(view.user(group.user)), quoted(group.partition));
}

std::string metric_head(std::string_view name, std::string_view help) {
  return fmt::format("# HELP ondeloc_site_{0} {1}\n# TYPE ondeloc_site_{0} gauge\n", name, help);
}

// A tag may not be empty.
std::string tag(std::string_view key, const std::string& value) {
  return value.empty() ? "" : fmt::format(",{}={}", key, escaped_tag(value));
}

std::string tags_of(const SiteView& view, const SiteReport& report) {
  return tag("cluster", view.cluster) +
         tag("hostname", report.node.empty() ? "unknown" : report.node) + ",type=node,type-id=0" +
         fmt::format(",job={},step={}", report.job, report.step) +
         tag("user", view.user(report.user)) + tag("partition", report.partition) +
         tag("program", report.program) + tag("fate", std::string(name_of(report.fate)));
}

}  // namespace

std::string site_text(const SiteView& view) {
  std::string text = head_text(view);
  if (view.account.totals.steps > 0) {
    text += table_text(view, "program", [](const SiteGroup& group) { return group.program; });
    text += table_text(view, "user", [&](const SiteGroup& group) { return view.user(group.user); });
    text += table_text(view, "partition", [](const SiteGroup& group) { return group.partition; });
  }
  return text + skipped_text(view.files);
}

std::string site_prometheus(const SiteView& view) {
  std::string text = metric_head("steps", "steps, by what became of them");
  for (const SiteGroup& group : view.account.groups)
    for (const FateRow& row : step_fates())
      if (group.totals.of(row.fate) > 0)
        text += fmt::format("ondeloc_site_steps{{{},fate=\"{}\"}} {}\n", labels_of(view, group),
                            row.name, group.totals.of(row.fate));
  for (const SiteMetric& metric : site_metrics()) {
    text += metric_head(metric.name, metric.help);
    for (const SiteGroup& group : view.account.groups)
      text += fmt::format("ondeloc_site_{}{{{}}} {}\n", metric.name, labels_of(view, group),
                          group.totals.sums.*metric.field);
  }
  text += metric_head("skipped_files", "files that are not reports, or cannot be read");
  return text + fmt::format("ondeloc_site_skipped_files {}\n", view.files.skipped);
}

std::string site_influx(const SiteView& view) {
  std::string text;
  for (const SiteReport& report : view.files.reports) {
    const std::string tags = tags_of(view, report);
    for (const SiteMetric& metric : site_metrics())
      fmt::format_to(std::back_inserter(text), "ondeloc_{}{} value={} {}\n", metric.name, tags,
                     report.sums.*metric.field, report.written);
  }
  return text;
}

}  // namespace ondeloc
