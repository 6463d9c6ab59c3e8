// SPDX-License-Identifier: Apache-2.0
// Which kind of mapping an application asks for: the decision tree of figure 2.10 of the DeLoc
// thesis (section 2.4.3).
//   CommR low and DramR low -> non-mapping; else CommDyn low -> static; else dynamic.
// The thesis gives no thresholds. Ours, all options:
//   CommR 0.01   below one percent of all accessed bytes, no placement of the talk can matter
//   DramR 0.05   below one access in twenty to DRAM, a run does not wait for memory controllers
//   CommDyn 2    the number that gives the thesis' classes to our recordings of NPB class A on 32
//                ranks (tests/data/npb) with one-second intervals, and no more than that: FT has 3
//                changes in 3 comparisons, MG 2 in 2, so it is the length of the run that decides
//                between them. The equation counts changes, and a count grows with the run: a long
//                run wants a larger threshold, which is why the answer shows the changes out of the
//                comparisons
// With fewer than two comparisons the dynamics are unknown and so called; the class is then static,
// since nothing speaks for more.
//
// The class is the thesis' own, but what to run is not: where nearly all bytes are sent in
// intervals that have the pattern of the whole run (likeness.h) the order changes between ranks
// that send about the same, and one mapping fits the run. A halo exchange of an hour is such a
// program, and so is FT, an all-to-all. The answer says so and advises a static mapping.
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
  bool from_load = false;         // memory volumes were unavailable
  bool dynamics_unknown = false;  // fewer than two comparisons: rerun with shorter intervals
  bool steady = false;            // dynamic by the count, but one mapping fits the run
  std::string reason;             // one sentence with the values and thresholds
  std::string advice;             // what to run
};

std::string_view to_string(MappingClass kind);  // "non-mapping", "static", "dynamic"
Classification classify(const Metrics& metrics, const Thresholds& thresholds = {});

}  // namespace ondeloc
