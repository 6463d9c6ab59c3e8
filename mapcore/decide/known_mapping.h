// SPDX-License-Identifier: Apache-2.0
// The answer of a search for earlier traffic. While the traffic is alike, and nobody has moved or
// the ranks are where the answer wants them, it is the answer for later traffic too: a steady
// program then pays for one search, not for one in each interval and after each move, and for none
// if no mapping can gain what is needed. Only `coordinated` searches; the published algorithms run
// anew each time, as their texts say. Thread safety: a value, one thread.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "mapcore/comm/pattern.h"
#include "mapcore/map/algorithm.h"

namespace ondeloc {

// Predicted seconds for the traffic of a request.
struct Stake {
  double cost_now = 0;  // of the present mapping
  double needed = 0;    // a mapping is of use only if it gains more; 0: every one is
};

struct KnownAnswer {
  Mapping mapping;
  // There was no search: by the lower bound of all costs (least_cost), no mapping gains what is
  // needed. `mapping` is the present one.
  bool is_ruled_out = false;
};

class KnownMapping {
 public:
  // Returns the known answer, or else that of compute_mapping(), which is then known. Traffic is
  // alike if no more than 2 % of its bytes, of its messages and of its off-node bytes are
  // elsewhere: the predicted cost of each mapping is then nearly the same share of the whole.
  // REQUIRES: the machine, the slots and the model are those of the last call, or forget() was
  // called in between.
  Result<KnownAnswer> compute(std::string_view algorithm, const MapRequest& request,
                              const Stake& stake = {});
  void forget() { previous_.clear(); }

 private:
  bool knows(const MapRequest& request) const;
  void keep(const MapRequest& request);
  bool rules_out(const MapRequest& request, const Stake& stake);

  Pattern pattern_;
  std::vector<double> off_node_;
  Mapping previous_;             // empty if nothing is known
  Mapping mapping_;              // empty as long as there was no search
  std::optional<double> least_;  // lower bound of all costs, for the traffic of pattern_
};

}  // namespace ondeloc
