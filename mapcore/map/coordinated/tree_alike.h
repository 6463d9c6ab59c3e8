// SPDX-License-Identifier: Apache-2.0
// Caches that the model cannot tell apart while they are empty. Thread safety: immutable.
#pragma once

#include <vector>

#include "mapcore/map/coordinated/tree_target.h"

namespace ondeloc::coordinated {

class AlikeCaches {
 public:
  explicit AlikeCaches(const TreeTarget& target);

  // The least cache of the same node that may exchange all its ranks with `llc`, or `llc` itself,
  // whatever the other caches hold.
  int in_node(int llc) const { return in_node_[llc]; }
  // A cache that may stand for `llc` if both of their nodes hold no rank.
  int anywhere(int llc) const { return anywhere_[llc]; }

 private:
  std::vector<int> in_node_, anywhere_;
};

}  // namespace ondeloc::coordinated
