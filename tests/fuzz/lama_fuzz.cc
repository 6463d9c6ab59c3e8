// SPDX-License-Identifier: Apache-2.0
// Parses any text as a LAMA layout; a valid layout has to map.
#include <cstdint>
#include <cstdlib>
#include <set>

#include "mapcore/map/algorithm.h"
#include "mapcore/map/slots.h"
#include "mapcore/topology/load.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ondeloc;
  static const Machine machine = *load_machine("package:2 numa:1 l3:1 core:2 pu:2");
  static const SlotSet slots = cut_slots(machine, machine.allowed, 1, false);
  static const CostModel model = CostModel::from(machine);
  static const Traffic traffic(CommMatrix::from_entries(8, {}));
  static const Mapping previous;
  const std::string text = "lama:" + std::string(reinterpret_cast<const char*>(data), size);
  const auto known = find_algorithm(text);
  if (!known) {
    if (known.error().message().size() > 300) std::abort();  // one sentence
    return 0;
  }
  const auto mapping = compute_mapping(text, {machine, slots, traffic, model, previous});
  if (mapping && !is_valid(*mapping, slots)) std::abort();
  return 0;
}
