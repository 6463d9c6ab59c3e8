// SPDX-License-Identifier: Apache-2.0
// Which kind of mapping an application asks for: the decision tree of figure 2.10 of the DeLoc
// thesis (section 2.4.3).
//   CommR low and DramR low -> non-mapping; else CommDyn low -> static; else dynamic,
// where we ask one question more before we call it so (below).
// The thesis gives no thresholds. Ours, all options:
//   CommR 0.01   below one percent of all accessed bytes, no placement of the talk can matter
//   DramR 0.05   below one access in twenty to DRAM, a run does not wait for memory controllers
//   CommDyn 2    the number that gives the thesis' classes to our recordings of NPB class A on 32
//                ranks (tests/data/npb) with one-second intervals, and no more than that: FT has 3
//                changes in 3 comparisons, MG 2 in 2, so it is the length of the run that decides
//                between them. The answer shows the changes out of the comparisons
// With fewer than two comparisons the dynamics are unknown and so called; the class is then static,
// since nothing speaks for more.
//
// Not published: CommDyn counts every change of the ranks' order, that of ranks which send about
// the same too, and a count grows with the run: by it alone every program of more than some seconds
// is dynamic, a halo exchange of an hour too. So dynamic is only what has phases that a mapping of
// their own could serve: more than 5 % of the bytes sent while the ranks talk otherwise than over
// the whole run, and as they did half an interval before (likeness.h). What is less is static, and
// the answer says that the count alone would call it dynamic. Of the NPB that is FT, an all-to-all
// from beginning to end, which the thesis calls dynamic. Whether a mapping for each phase would be
// predicted to gain is not asked: that depends on the machine, and `ondeloc replay` says it for
// one.
//
// Without memory volumes the first question is answered from the load instead: Lcomm per task and
// second below 1 MB/s (a thousandth of the share that one of 20 cores has of a 20 GB/s memory) is
// non-mapping. The answer says what it rests on. Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "mapcore/profile/metrics.h"

namespace ondeloc {

struct Thresholds {
  double comm_r = 0.01;
  double dram_r = 0.05;
  double comm_dyn = 2;
  double load_rate = 1e6;  // bytes per second and task
};

enum class MappingClass { kNonMapping, kStatic, kDynamic };

struct Classification {
  MappingClass kind = MappingClass::kNonMapping;
  MappingClass published = MappingClass::kNonMapping;  // by CommDyn alone
  bool from_load = false;                              // memory volumes were unavailable
  bool dynamics_unknown = false;  // fewer than two comparisons: rerun with shorter intervals
  std::string reason;             // one sentence with the values and thresholds
  std::string advice;             // what to run
};

std::string_view to_string(MappingClass kind);  // "non-mapping", "static", "dynamic"
Classification classify(const Metrics& metrics, const Thresholds& thresholds = {});

}  // namespace ondeloc
