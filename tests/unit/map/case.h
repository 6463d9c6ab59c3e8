// SPDX-License-Identifier: Apache-2.0
// One matrix to map on one machine, and what a request for that needs to stay alive.
#pragma once

#include <string>
#include <vector>

#include "mapcore/map/algorithm.h"
#include "mapcore/map/coordinated/tree_target.h"
#include "mapcore/map/slots.h"
#include "mapcore/topology/load.h"

namespace ondeloc {

struct Case {
  Case(const std::string& topology, const CommMatrix& matrix, Weight weight = Weight::kTime)
      : machine(*load_machine(topology)),
        slots(slots_for(machine, machine.allowed, matrix.ranks, 1)),
        traffic(matrix),
        model(CostModel::from(machine, {{}, {}, {}, weight, nullptr})) {}
  MapRequest request() const { return {machine, slots, traffic, model, previous, off_node}; }
  Mapping map(const char* algorithm = "coordinated") const {
    return *compute_mapping(algorithm, request());
  }
  Cost cost(const Mapping& mapping) const {
    return evaluate(model, slots, traffic, mapping, off_node);
  }
  Machine machine;
  SlotSet slots;
  Traffic traffic;
  CostModel model;
  Mapping previous;
  std::vector<double> off_node;
};

inline coordinated::TreeTarget target_of(const Case& c) {
  MapRequest request = c.request();
  request.raw = &c.traffic;
  return coordinated::TreeTarget(request);
}

}  // namespace ondeloc
