// SPDX-License-Identifier: Apache-2.0
// Classifies the kind of mapping that an application needs: the decision tree of figure 2.10 of the
// DeLoc thesis (section 2.4.3).
//   CommR low and DramR low -> non-mapping; else CommDyn low -> static; else dynamic,
// but we ask one more question before we call it dynamic (below). The thesis gives no thresholds.
// Ours, all options:
//   CommR 0.01   below one percent of all accessed bytes, placement of communication cannot matter
//   DramR 0.05   below one access in twenty to DRAM, a run does not wait for memory controllers
//   CommDyn 2    the number that gives the thesis' classes to our recordings of NPB class A on 32
//                ranks (tests/data/npb) with one-second intervals, and nothing beyond that: FT has
//                3 changes in 3 comparisons, MG 2 in 2, so it is the length of the run that decides
//                between them. The answer shows the changes out of the comparisons
// With fewer than two comparisons the dynamics are unknown, and the answer says so. The class is
// then static, because nothing shows phases.
//
// Not published: CommDyn counts every change in the order of the ranks, also between ranks that
// send about the same, and the count grows with the run. By the count alone every program that runs
// for more than some seconds is dynamic, also an hour of halo exchange. So we call a run dynamic
// only if it has phases that a mapping of their own could serve: more than 5 % of the bytes are
// sent while the pattern differs from that of the whole run but resembles that of half an interval
// before (likeness.h). All other runs are static, and the answer says if the count alone would say
// dynamic. Of the NPB that concerns FT, an all-to-all from beginning to end, which the thesis calls
// dynamic. The class does not say whether a mapping for each phase would gain: that depends on the
// machine, and `ondeloc replay` predicts it for one.
//
// Without memory volumes the first question is answered from the load instead: Lcomm per task and
// second below 1 MB/s (a thousandth of the share that one of 20 cores has of a 20 GB/s memory) is
// non-mapping. A run of less than 1 ms counts as 1 ms. The answer names its reasons. Thread safety:
// pure functions.
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
