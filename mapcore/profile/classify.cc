// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/classify.h"

#include <fmt/format.h>

#include <algorithm>

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

// Two messages a microsecond apart are no load of megabytes a second: what is shorter than an
// interval counts as one.
double load_rate(const Metrics& m) {
  const double seconds = std::max(m.seconds, m.interval_s);
  if (seconds <= 0 || m.tasks == 0) return 0;
  return m.lcomm / seconds / m.tasks;
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
  return {talks, fmt::format("memory volumes are unavailable, so this rests on the load: Lcomm is "
                             "{:.4g} MB/s per task, {} {:.4g}",
                             rate * 1e-6, talks ? "at least" : "below", t.load_rate * 1e-6)};
}

constexpr double kSteady = 0.95;  // of the bytes

struct SecondQuestion {
  bool changes, unknown, steady;
  std::string reason;
};

SecondQuestion ask_dynamics(const Metrics& m, const Thresholds& t) {
  const bool unknown = m.compared < 2;
  const bool changes = !unknown && static_cast<double>(m.comm_dyn) > t.comm_dyn;
  std::string text = fmt::format(
      "; CommDyn is {}: the order of the ranks changed in {} of {} comparisons of intervals of "
      "{:.4g} s",
      m.comm_dyn, m.comm_dyn, m.compared, m.interval_s);
  text += unknown ? ", too few to know whether the pattern changes: use shorter intervals (-i)"
                  : fmt::format(", {} {:.4g}", changes ? "above" : "at most", t.comm_dyn);
  const bool steady = changes && m.alike >= kSteady;
  if (steady)
    text += fmt::format(
        "; but {:.3g} % of the bytes were sent in intervals with the pattern of the whole run: "
        "ranks "
        "that send about the same change places, and one mapping fits all",
        100 * m.alike);
  return {changes, unknown, steady, text};
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
  found.kind = second.changes ? MappingClass::kDynamic : MappingClass::kStatic;
  found.dynamics_unknown = second.unknown;
  found.reason += second.reason;
  found.steady = second.steady;
  const bool online = second.changes && !second.steady;
  found.advice = online ? "run with --ondeloc=online"
                        : "make a rankfile with `ondeloc profile map` and run with "
                          "--ondeloc=static:FILE";
  return found;
}

}  // namespace ondeloc
