// SPDX-License-Identifier: Apache-2.0
// Concurrent communication: the messages of a profile clustered in time (kmeans.h, equation 2.1 of
// the DeLoc thesis). The run is cut into `bins` equal time bins, by default 100: one percent of the
// run, the resolution at which the thesis shows its clusters (figure 2.6). Messages in one bin
// count as simultaneous. Self-sends are left out.
//
// Not published: if 100 bins give one cluster, or as many as the search allows, and the caller
// asked for nothing, we try twice as many bins, up to 1600, with up to half as many clusters as
// bins. A run of forty iterations or more has less than three bins for each iteration, which leave
// no pause between its bursts. Finer bins count only if a third of them are silent and most pauses
// separate clusters; a run that sends all the time stays one cluster. For a run of more than some
// 300 iterations, look at a part (`window`).
//
// Memory: bins + one matrix per cluster; of more messages than 2^26 the clusters looked for beyond
// 50 are limited to as many cells of all matrices together. Thread safety: as the reader.
#pragma once

#include <cstdint>
#include <vector>

#include "mapcore/comm/comm_matrix.h"
#include "mapcore/profile/event.h"
#include "mapcore/profile/kmeans.h"
#include "mapcore/profile/reader.h"

namespace ondeloc {

// `count` equal bins over [from, to): bin b begins at the first nanosecond whose index is b.
class TimeBins {
 public:
  TimeBins(TimeWindow span, std::size_t count);
  std::size_t index(std::uint64_t time_ns) const;  // REQUIRES: span().contains(time_ns)
  std::uint64_t begin_ns(std::size_t bin) const;
  TimeWindow span() const { return span_; }
  std::size_t count() const { return messages_.size(); }
  double width_ns() const;
  void add(const ProfileEvent& event);
  // Returns the same messages in wider bins, each as wide as `factor` of these. REQUIRES: count() %
  // factor == 0.
  TimeBins merged(std::size_t factor) const;
  std::size_t silent() const;   // bins without a message
  std::uint64_t total() const;  // messages
  const std::vector<std::uint64_t>& messages() const { return messages_; }  // per bin
  const std::vector<double>& bytes() const { return bytes_; }               // per bin
  // Returns the bins with messages as points in units of one bin, and the indexes of these bins.
  std::vector<WeightedPoint> points(std::vector<std::size_t>& bins) const;

 private:
  TimeWindow span_;
  std::vector<std::uint64_t> messages_;
  std::vector<double> bytes_;
  std::vector<double> sum_, square_;  // of the position inside the bin, 0 to 1
};

struct ClusterOptions {
  TimeWindow window;
  std::size_t bins = 0;          // 0: 100, and more where these tell nothing apart
  std::size_t max_clusters = 0;  // 0: 50, and half of the bins where there are more
  std::size_t clusters = 0;      // 0: chosen by BIC
};

struct Cluster {
  TimeWindow time;  // from its first bin's begin to its last bin's end
  std::uint64_t messages = 0;
  double bytes = 0;
  int tasks = 0;      // TaskN: ranks that send or receive in it
  CommMatrix matrix;  // of its messages: the group of concurrent pairs
};

struct Clusters {
  TimeBins bins;
  std::vector<int> cluster_of_bin;  // -1: no message
  std::vector<Cluster> clusters;    // by time
  double objective = 0;             // j of equation 2.1, messages x bins^2
  std::size_t most = 0;             // clusters looked for
  std::size_t finest = 0;           // bins, the most that were tried
};

// Error: no message between different ranks in the window.
Result<Clusters> find_clusters(ProfileReader& profile, const ClusterOptions& options = {},
                               const Progress& progress = {});

}  // namespace ondeloc
