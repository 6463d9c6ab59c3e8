// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/classify.h"

#include <fmt/format.h>

#include <algorithm>

#include "mapcore/base/quantity.h"

namespace ondeloc {

std::string_view to_string(MappingClass kind) {
  switch (kind) {
    case MappingClass::kStatic:
      return "static";
    case MappingClass::kDynamic:
      return "dynamic";
    case MappingClass::kNonMapping:
      break;
  }
  return "non-mapping";
}

namespace {

// Two messages a microsecond apart are not a load of megabytes per second. The interval of CommDyn
// does not say how long a run was.
constexpr double kShortestRun = 1e-3;  // seconds

double load_rate(const Metrics& m) {
  if (m.tasks == 0) return 0;
  return m.lcomm / std::max(m.seconds, kShortestRun) / m.tasks;
}

struct FirstQuestion {
  bool can_benefit;
  std::string reason;
};

FirstQuestion ask_memory(const Metrics& m, const Thresholds& t) {
  const bool talks = *m.comm_r >= t.comm_r;
  const bool dram = m.dram_r && *m.dram_r >= t.dram_r;
  std::string text =
      fmt::format("CommR {:.4g} is {} {:.4g}", *m.comm_r, talks ? "at least" : "below", t.comm_r);
  text += m.dram_r ? fmt::format(", DramR {:.4g} is {} {:.4g}", *m.dram_r,
                                 dram ? "at least" : "below", t.dram_r)
                   : std::string(", DramR is unavailable");
  return {talks || dram, text};
}

FirstQuestion ask_load(const Metrics& m, const Thresholds& t) {
  const double rate = load_rate(m);
  const bool talks = rate >= t.load_rate;
  return {talks,
          fmt::format("memory volumes are unavailable, so the load decides: Lcomm is {} per "
                      "task, {} {}",
                      rate_text(rate), talks ? "at least" : "below", rate_text(t.load_rate))};
}

// Share of the bytes. A phase with a smaller share gains nothing by a mapping of its own.
constexpr double kFew = 0.05;

struct SecondQuestion {
  MappingClass published = MappingClass::kStatic, kind = MappingClass::kStatic;
  bool unknown = false;
  std::string reason = {};
};

std::string count_text(const Metrics& m, const Thresholds& t, const SecondQuestion& answer) {
  const std::string text = fmt::format(
      "; CommDyn is {}: the order of the ranks changed in {} of {} comparisons of intervals of "
      "{}",
      m.comm_dyn, m.comm_dyn, m.compared, seconds_text(m.interval_s));
  if (answer.unknown)
    return text + ", too few to know whether the pattern changes: use shorter intervals (-i)";
  const bool dynamic = answer.published == MappingClass::kDynamic;
  return text + fmt::format(", {} {:.4g}", dynamic ? "above" : "at most", t.comm_dyn);
}

// Explains the class if the count alone would say dynamic.
std::string phases_text(const Metrics& m) {
  const Likeness& l = m.likeness;
  if (l.lasting > kFew)
    return fmt::format(
        ", and the pattern itself changes: {:.3g} % of the bytes were sent in phases that differ "
        "from the whole run and last long enough to move the ranks",
        100 * l.lasting);
  if (l.alike > 1 - kFew)
    return fmt::format(
        ", which alone would mean dynamic; but {:.3g} % of the bytes were sent with the pattern of "
        "the whole run, and only ranks that send about the same amount swap places in the order, "
        "so one mapping fits all",
        100 * l.alike);
  return fmt::format(
      ", which alone would mean dynamic; but no other pattern lasts: {:.3g} % of the bytes were "
      "sent with a pattern unlike that of the whole run, and only {:.3g} % with a pattern that was "
      "there {} before too, so it would be over before the ranks had moved",
      100 * (1 - l.alike), 100 * l.lasting, seconds_text(m.interval_s / 2));
}

SecondQuestion ask_dynamics(const Metrics& m, const Thresholds& t) {
  SecondQuestion answer;
  answer.unknown = m.compared < 2;
  const bool counted = !answer.unknown && static_cast<double>(m.comm_dyn) > t.comm_dyn;
  if (counted) answer.published = MappingClass::kDynamic;
  if (counted && m.likeness.lasting > kFew) answer.kind = MappingClass::kDynamic;
  answer.reason = count_text(m, t, answer) + (counted ? phases_text(m) : "");
  return answer;
}

}  // namespace

Classification classify(const Metrics& metrics, const Thresholds& thresholds) {
  Classification found;
  found.from_load = !metrics.comm_r.has_value();
  const FirstQuestion first =
      found.from_load ? ask_load(metrics, thresholds) : ask_memory(metrics, thresholds);
  found.reason = first.reason;
  found.advice = "mapping by communication will not matter; any binding will do";
  if (!first.can_benefit) return found;
  const SecondQuestion second = ask_dynamics(metrics, thresholds);
  found.kind = second.kind;
  found.published = second.published;
  found.dynamics_unknown = second.unknown;
  found.reason += second.reason;
  found.advice = found.kind == MappingClass::kDynamic
                     ? "run with --ondeloc=online"
                     : "make a rankfile with `ondeloc profile map` and run with "
                       "--ondeloc=static:FILE";
  return found;
}

}  // namespace ondeloc
