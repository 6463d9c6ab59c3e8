// SPDX-License-Identifier: Apache-2.0
// The answer of a search for earlier traffic. While the traffic is alike, and nobody has moved or
// the ranks are where the answer wants them, it is the answer for later traffic too: a steady
// program then pays for one search, not for one in each interval and after each move. Only
// `coordinated` searches; the published algorithms run anew each time, as their texts say. Thread
// safety: a value, one thread.
#pragma once

#include <string_view>
#include <vector>

#include "mapcore/comm/pattern.h"
#include "mapcore/map/algorithm.h"

namespace ondeloc {

class KnownMapping {
 public:
  // Returns the known answer, or else that of compute_mapping(), which is then known. Traffic is
  // alike if no more than 2 % of its bytes, of its messages and of its off-node bytes are
  // elsewhere: the predicted cost of each mapping is then nearly the same share of the whole.
  // REQUIRES: the machine, the slots and the model are those of the last call, or forget() was
  // called in between.
  Result<Mapping> compute(std::string_view algorithm, const MapRequest& request);
  void forget() { previous_.clear(); }

 private:
  bool knows(const MapRequest& request) const;

  Pattern pattern_;
  std::vector<double> off_node_;
  Mapping previous_, mapping_;  // previous_ is empty if nothing is known
};

}  // namespace ondeloc
