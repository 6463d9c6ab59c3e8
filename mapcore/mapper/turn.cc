// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/turn.h"

#include <chrono>

#include "mapcore/binding/proc.h"

namespace ondeloc {

// Of the ranks that would move, where memory follows: to ask for those of all takes longer than all
// the rest of a turn.
std::vector<double> Turn::private_bytes(const Mapping& mapping) const {
  if (!placement_.memory_follows()) return {};
  std::vector<double> bytes(mapping.size());
  for (std::size_t i = 0; i < mapping.size(); ++i) {
    const RankState& state = ranks_.all()[i];
    if (mapping[i] == placement_.current()[i] || !state.movable()) continue;
    bytes[i] = static_cast<double>(read_private_bytes(state.process).value_or(0));
  }
  return bytes;
}

double Turn::cost_at_start(const Traffic& traffic, const CounterDelta& delta) {
  const SlotSet& slots = placement_.slots().slots;
  if (start_.size() != placement_.current().size() || !is_valid(start_, slots))
    start_ = placement_.current();
  return evaluate(model_, slots, traffic, start_, delta.off_node).total;
}

double Turn::migration_to(const Mapping& mapping, const std::vector<double>& bytes) const {
  return migration_seconds(model_, placement_.slots().slots, placement_.current(), mapping, bytes,
                           placement_.memory_follows());
}

// A rank away from memory that cannot follow loses more than any message mapping gains.
bool Turn::has_room_for(const Mapping& mapping, const std::vector<double>& bytes) const {
  if (placement_.pages_fit(mapping, bytes)) return true;
  placement_.notes().insert(
      "a better mapping was not applied: a NUMA node has no room for the memory that would follow "
      "(memory=stay moves the ranks without it)");
  return false;
}

Result<Mapping> Turn::map(const Traffic& traffic, const CounterDelta& delta) const {
  const SlotPlan& plan = placement_.slots();
  return compute_mapping(options_.algorithm, {plan.machine, plan.slots, traffic, model_,
                                              placement_.current(), delta.off_node, &whole_});
}

// The mapping to move to, if there is one that is worth it.
std::optional<Mapping> Turn::better_mapping(const Traffic& traffic, const CounterDelta& delta,
                                            double seconds, double cost_now) {
  const double horizon = phase_.advance(traffic, seconds) +
                         until_next_look(seconds, options_.slope, 1e-3 * options_.max_interval_ms);
  const double cost_start = cost_at_start(traffic, delta);
  ledger_.add(cost_now, cost_start);
  if (cost_now == 0 || traffic.ranks() < 2 || placement_.keeps_bindings()) return std::nullopt;
  auto mapped = map(traffic, delta);
  if (!mapped) {
    placement_.notes().insert(mapped.error().message());
    return std::nullopt;
  }
  Mapping wanted = placement_.without_fixed(*std::move(mapped), ranks_);
  if (options_.decide == Decide::kAlways)
    return placement_.changes(wanted) ? std::optional(std::move(wanted)) : std::nullopt;
  // The way back comes first: what was lost already is certain, what is to be gained is not.
  const Mapping back = placement_.without_fixed(start_, ranks_);
  const std::vector<double> back_bytes = private_bytes(back);
  const double way_back = migration_to(back, back_bytes);
  if (placement_.changes(back) && ledger_.should_go_back(way_back) &&
      has_room_for(back, back_bytes)) {
    ledger_.add_migration(way_back);
    return back;
  }
  const std::vector<double> bytes = private_bytes(wanted);
  const double migration = migration_to(wanted, bytes);
  const Cost then = evaluate(model_, placement_.slots().slots, traffic, wanted, delta.off_node);
  const double cost_new = ledger_.cost_to_count(then.total, cost_start, migration);
  const DecisionInput input{cost_now, cost_new, seconds, horizon, migration, options_.threshold};
  if (!placement_.changes(wanted) || phase_.is_fleeting() || !worth_remapping(input) ||
      !has_room_for(wanted, bytes))
    return std::nullopt;
  ledger_.add_migration(migration);
  return wanted;
}

ReportInterval Turn::look(const CounterDelta& delta, const Traffic& traffic) const {
  ReportInterval line;
  line.bytes = traffic.total();
  line.messages = delta.messages;
  for (const double bytes : delta.off_node) line.off_node_bytes += bytes;
  const Cost now =
      evaluate(model_, placement_.slots().slots, traffic, placement_.current(), delta.off_node);
  line.remote_share_before = line.remote_share_after = now.remote_share;
  line.peak_load_before = line.peak_load_after = now.peak_load;
  line.cost_before = line.cost_after = now.total;
  return line;
}

ReportInterval Turn::take(const CounterDelta& delta, double seconds) {
  const auto start = std::chrono::steady_clock::now();
  const Traffic traffic(delta.matrix);
  ReportInterval line = look(delta, traffic);
  const auto wanted = better_mapping(traffic, delta, seconds, line.cost_before);
  line.compute_us =
      std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
  if (!wanted) return line;
  note_applied(placement_.apply(*wanted, ranks_), delta, traffic, line);
  return line;
}

void Turn::note_applied(const ApplyResult& applied, const CounterDelta& delta,
                        const Traffic& traffic, ReportInterval& line) const {
  for (const LocalRank rank : applied.moved) line.moved.push_back(ranks_.at(rank).world.value);
  line.remapped = !applied.moved.empty();
  const Cost then =
      evaluate(model_, placement_.slots().slots, traffic, placement_.current(), delta.off_node);
  line.remote_share_after = then.remote_share;
  line.peak_load_after = then.peak_load;
  line.cost_after = then.total;
}

std::optional<ReportInterval> Turn::follow_cpuset(const CounterDelta& delta) {
  const Traffic traffic(delta.matrix);
  ReportInterval line = look(delta, traffic);
  const auto applied = placement_.follow_cpuset(whole_, ranks_);
  if (!applied) return std::nullopt;
  model_ = CostModel::from(placement_.slots().machine);
  start_.clear();
  ledger_ = {};
  note_applied(*applied, delta, traffic, line);
  return line;
}

}  // namespace ondeloc
