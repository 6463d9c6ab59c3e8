// SPDX-License-Identifier: Apache-2.0
// Two promises of `coordinated`, checked on one case: the mapping costs no more than any start, and
// as the present mapping it stays where a second call finds no gain.
#pragma once

#include <initializer_list>

#include "tests/unit/catch.h"
#include "tests/unit/map/case.h"

namespace ondeloc {

inline void check_against_starts(Case c) {
  const Mapping mapping = c.map();
  const double cost = c.cost(mapping).total;
  for (const char* start : {"packed", "scatter", "random", "balance", "locality", "ondeloc"})
    CHECK(cost <= c.cost(c.map(start)).total * (1 + 1e-9));
  c.previous = mapping;
  const Mapping again = c.map();
  if (c.cost(again).total >= cost * (1 - 1e-6)) CHECK(again == mapping);
}

}  // namespace ondeloc
