// SPDX-License-Identifier: Apache-2.0
#include "mapcore/profile/classify.h"

#include <fmt/format.h>

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

double load_rate(const Metrics& m) {
  if (m.seconds <= 0 || m.tasks == 0) return 0;
  return m.lcomm / m.seconds / m.tasks;
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

}  // namespace

Classification classify(const Metrics& metrics, const Thresholds& thresholds) {
  Classification found;
  found.from_load = !metrics.comm_r.has_value();
  const FirstQuestion first =
      found.from_load ? ask_load(metrics, thresholds) : ask_memory(metrics, thresholds);
  found.reason = first.reason;
  found.advice = "mapping by communication will not matter; any binding will do";
  if (!first.can_benefit) return found;
  const bool changes = static_cast<double>(metrics.comm_dyn) > thresholds.comm_dyn;
  found.kind = changes ? MappingClass::kDynamic : MappingClass::kStatic;
  found.reason += fmt::format("; CommDyn {} over {} intervals of {:.4g} s is {} {:.4g}",
                              metrics.comm_dyn, metrics.intervals, metrics.interval_s,
                              changes ? "above" : "at most", thresholds.comm_dyn);
  found.advice = changes ? "run with --ondeloc=online"
                         : "make a rankfile with `ondeloc profile map` and run with "
                           "--ondeloc=static:FILE";
  return found;
}

}  // namespace ondeloc
