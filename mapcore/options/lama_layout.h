// SPDX-License-Identifier: Apache-2.0
// The argument of lama: as text: which levels vary in which order, and what a rank takes.
//
//   lama:LAYOUT[/bind=WIDTH][/mppr=N:LEVEL[+N:LEVEL...]][/order=s|n][/oversubscribe]
//
// LAYOUT: the letters n b s c h L1 L2 L3 N, each at most once, n and h and the letter of the
// binding among them; the leftmost varies fastest. Or one of the names node, numa, socket, l3cache,
// l2cache, l1cache, core, slot, hwthread. WIDTH: 1 to 3 digits and a level, such as 1c, 2c, 1s,
// 1L3: how much each rank is bound to (default: its slot). mppr: at most N ranks on each object of
// a level. order: n numbers ranks as they are mapped, s by hardware thread (default n; slot: s).
//
// Source: J. Hursey, J. M. Squyres, T. Dontje, "Locality-Aware Parallel Process Mapping for
// Multi-Core HPC Systems", IEEE Cluster 2011; option forms of Open MPI 1.8, component rmaps/lama
// ('/' and '+' stand where it has separate parameters and ',', which separates the keys of
// --ondeloc). Thread safety: pure functions.
#pragma once

#include <string_view>
#include <vector>

#include "mapcore/base/result.h"

namespace ondeloc {

// As Level in mapcore/topology/machine.h, whose order and numbers these are.
struct LamaWidth {
  int count = 1;
  int level = 8;  // hardware thread
};

struct LamaLayout {
  std::vector<int> levels;  // leftmost (varies fastest) first
  bool has_bind = false;
  LamaWidth bind;
  std::vector<LamaWidth> most_per_resource;
  bool sequential = false;
  bool oversubscribe = false;
};

Status check_lama(std::string_view argument);
Result<LamaLayout> parse_lama(std::string_view text);

}  // namespace ondeloc
