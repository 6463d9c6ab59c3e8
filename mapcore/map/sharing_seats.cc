// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/sharing_seats.h"

#include <algorithm>

#include "mapcore/map/algorithm.h"

namespace ondeloc {
namespace {

// Shared faults for each thread. With as many, the best of all orders of threads that share with
// all alike looks a few per cent better than a random order, far less than kClearly asks for.
constexpr double kEnough = 64;
constexpr double kClearly = 0.8;  // of the present cost
// So much more bandwidth that congestion is nothing beside latency.
constexpr double kUnlimited = 1e9;

CostModel latency_alone(CostModel model) {
  model.weight = Weight::kMessages;
  for (auto* rates : {&model.bandwidth, &model.link, &model.link_capacity, &model.port})
    for (double& rate : *rates) rate *= kUnlimited;
  model.adapters = {};
  return model;
}

SlotSet slots_of(const Machine& machine, std::span<const CpuSet> seats) {
  SlotSet slots;
  for (const CpuSet& cpus : seats) slots.push_back(make_slot(machine, cpus));
  return slots;
}

bool are_alike(const CostModel& model, const SlotSet& slots) {
  std::optional<double> first;
  for (const SlotIndex a : slots.ids())
    for (const SlotIndex b : slots.ids()) {
      if (!(a < b)) continue;
      const double cost = model.message_cost_between(slots[a].seat, slots[b].seat);
      if (cost != first.value_or(cost)) return false;
      first = cost;
    }
  return true;
}

Mapping in_order(const SlotSet& slots) {
  Mapping mapping;
  for (const SlotIndex slot : slots.ids()) mapping.push_back(slot);
  return mapping;
}

}  // namespace

bool order_matters(const CostModel& model, const Machine& machine, std::span<const CpuSet> seats) {
  return !are_alike(model, slots_of(machine, seats));
}

SharingSeats exchange_seats(const CostModel& model, const Machine& machine,
                            std::span<const CpuSet> seats, const CommMatrix& pairs) {
  const SlotSet slots = slots_of(machine, seats);
  if (are_alike(model, slots)) return {Exchange::kAlike, {}};
  const Traffic traffic(pairs);
  if (traffic.total_messages() < kEnough * static_cast<double>(seats.size()))
    return {Exchange::kTooFew, {}};
  const CostModel latency = latency_alone(model);
  const Mapping now = in_order(slots);
  const auto best = compute_mapping("coordinated", {machine, slots, traffic, latency, now});
  const auto cost = [&](const Mapping& mapping) {
    return evaluate(latency, slots, traffic, mapping).total;
  };
  if (!best || cost(*best) > kClearly * cost(now)) return {Exchange::kInOrder, {}};
  SharingSeats better{Exchange::kBetter, {}};
  for (const SlotIndex slot : *best) better.cpus.push_back(slots[slot].pus);
  return better;
}

}  // namespace ondeloc
