// SPDX-License-Identifier: Apache-2.0
// The argument of lama as text: the order in which levels vary, and the width of a rank.
//
//   lama:LAYOUT[/bind=WIDTH][/mppr=N:LEVEL[+N:LEVEL...]][/order=s|n][/visit=LEVEL:N[+N...]]
//       [/oversubscribe]
//
// LAYOUT: the letters n b s c h L1 L2 L3 N, each at most once, n and h and the letter of the
// binding among them; the leftmost varies fastest. Or one of the names node, numa, socket, l3cache,
// l2cache, l1cache, core, slot, hwthread. WIDTH: 1 to 3 digits and a level, such as 1c, 2c, 1s,
// 1L3: how much each rank is bound to (default: its slot). mppr: at most N ranks on each object of
// a level. order: n numbers ranks as they are mapped, s by hardware thread (default n; slot: s).
// visit: the objects of a level, counted inside their parent, in this order, then the others; once
// a level.
//
// Source: J. Hursey, J. M. Squyres, T. Dontje, "Locality-Aware Parallel Process Mapping for
// Multi-Core HPC Systems", IEEE Cluster 2011; option forms of Open MPI 1.8, component rmaps/lama
// ('/' and '+' replace its separate parameters and ',', which separates the keys of --ondeloc).
// Thread safety: pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "mapcore/base/result.h"

namespace ondeloc {

// Levels have the numbers of Level in mapcore/topology/machine.h.
struct LamaWidth {
  int count = 1;
  int level = 8;  // hardware thread
};

struct LamaOrder {
  int level = 0;
  std::vector<int> first;  // numbers of objects, each once
};

struct LamaLayout {
  std::vector<int> levels;  // leftmost (varies fastest) first
  bool has_bind = false;
  LamaWidth bind;
  std::vector<LamaWidth> most_per_resource;
  std::vector<LamaOrder> orders;
  bool sequential = false;
  bool oversubscribe = false;
};

Status check_lama(std::string_view argument);
Result<LamaLayout> parse_lama(std::string_view text);

}  // namespace ondeloc
