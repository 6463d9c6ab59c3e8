// SPDX-License-Identifier: Apache-2.0
#include "mapcore/page/interval_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "mapcore/base/quantity.h"
#include "mapcore/decide/explain.h"

namespace ondeloc {
namespace {

using PageJson = nlohmann::ordered_json;

constexpr std::size_t kMostDecisions = 400;   // that the page explains
constexpr std::size_t kMostIntervals = 2000;  // of the time line, more are put together

// Intervals with moves come first if there are too many; the page shows them in order of time.
std::vector<std::size_t> explained_steps(const Run& run) {
  std::vector<std::size_t> steps(run.steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i] = i;
  if (steps.size() <= kMostDecisions) return steps;
  std::stable_partition(steps.begin(), steps.end(),
                        [&](std::size_t i) { return !run.steps[i].moved.empty(); });
  steps.resize(kMostDecisions);
  std::sort(steps.begin(), steps.end());
  return steps;
}

}  // namespace

nlohmann::ordered_json interval_data(const Run& run) {
  PageJson out = {{"begin", {}},  {"end", {}},  {"bytes", {}},
                  {"remote", {}}, {"load", {}}, {"moved", {}}};
  for (auto& column : out) column = PageJson::array();
  const std::size_t group =
      std::max<std::size_t>(1, (run.steps.size() + kMostIntervals - 1) / kMostIntervals);
  for (std::size_t first = 0; first < run.steps.size(); first += group) {
    const std::size_t last = std::min(first + group, run.steps.size()) - 1;
    double bytes = 0, shared = 0, across = 0, load = 0;
    std::size_t moved = 0;
    for (std::size_t i = first; i <= last; ++i) {
      const RunStep& step = run.steps[i];
      bytes += step.bytes;
      shared += step.remote_before ? step.bytes : 0;
      across += step.bytes * step.remote_before.value_or(0);
      load = std::max(load, step.peak_load);
      moved += step.moved.size();
    }
    out["begin"].push_back(run.steps[first].begin);
    out["end"].push_back(run.steps[last].end);
    out["bytes"].push_back(bytes);
    out["remote"].push_back(shared > 0 ? PageJson(across / shared) : PageJson(nullptr));
    out["load"].push_back(load);
    out["moved"].push_back(moved);
  }
  return out;
}

nlohmann::ordered_json decision_data(const Run& run) {
  PageJson out = PageJson::array();
  for (const std::size_t i : explained_steps(run)) {
    const RunStep& step = run.steps[i];
    out.push_back({i, fmt::format("{} to {}", seconds_text(step.begin), seconds_text(step.end)),
                   name_of(step.decision.kind), step.moved.size(), meaning_of(step.decision.kind),
                   interval_text(run, i)});
  }
  return out;
}

std::string decision_hint(const Run& run) {
  const std::size_t all = run.steps.size();
  if (all > kMostDecisions)
    return fmt::format(
        "{} of {} intervals, those with moves first; 'ondeloc explain FILE' has all of them.",
        kMostDecisions, all);
  return "Open an interval to see the numbers and the rules of its decision.";
}

}  // namespace ondeloc
