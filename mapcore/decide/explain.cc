// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

std::string share_of(double seconds, double whole) {
  return whole > 0 ? " (" + percent_text(seconds / whole) + ")" : "";
}

std::string head_of(const RunStep& step, std::size_t index) {
  return fmt::format("interval {}, {} to {}: {}; {}\n", index, seconds_text(step.begin),
                     seconds_text(step.end), name_of(step.decision.kind),
                     meaning_of(step.decision.kind));
}

// Lists the rules up to the rule that failed; a decision that moves ranks passes all rules.
std::string rules_text(const Decision& decision) {
  std::string text = "rules\n";
  for (const Rule& rule : rules()) {
    const bool failed =
        std::find(rule.failed.begin(), rule.failed.end(), decision.kind) != rule.failed.end();
    text += fmt::format("  {:<58} {}\n", rule.question, failed ? "no" : "yes");
    if (failed) return text + "  later rules were not asked\n";
  }
  return text;
}

const char* gain_of(DecisionKind kind) {
  if (kind == DecisionKind::kSlower) return "gain of moving back, measured";
  if (kind == DecisionKind::kBrings) return "gain expected of the memory";
  return "gain of the new mapping";
}

std::string numbers_text(const RunStep& step) {
  const Decision& decision = step.decision;
  std::string text = fmt::format(
      "  sent on the node             {}{}\n", bytes_text(step.bytes),
      step.remote_before ? fmt::format(", {:.0f} % between NUMA nodes", 100 * *step.remote_before)
                         : "");
  const auto row = [&text](const char* what, double seconds, const std::string& more) {
    text += fmt::format("  {:<28} {}{}\n", what, seconds_text(seconds), more);
  };
  row("cost of these messages", step.cost, share_of(step.cost, step.end - step.begin));
  row(gain_of(decision.kind), decision.gain, share_of(decision.gain, step.looked_seconds));
  row("gain has to exceed", decision.threshold, "");
  row("price of moving", decision.migration, "");
  row("time in which it has to pay", decision.horizon, "");
  row("lost so far by moving", decision.ledger, decision.ledger < 0 ? ", that is saved" : "");
  return "numbers (times are predicted, of the interval's messages)\n" + text;
}

std::string moved_text(const RunStep& step) {
  if (step.moved.empty()) return "no rank moved\n";
  return fmt::format("moved {}: {}\n", counted(step.moved.size(), "rank"),
                     fmt::join(step.moved, ", "));
}

bool has_rules(DecisionKind kind) {
  return kind != DecisionKind::kFollows && kind != DecisionKind::kRepeats &&
         kind != DecisionKind::kBrings;
}

}  // namespace

std::string meaning_of(DecisionKind kind) {
  return decisions()[static_cast<std::size_t>(kind)].meaning;
}

std::string interval_text(const RunStep& step, std::size_t index) {
  return head_of(step, index) + moved_text(step) + numbers_text(step) +
         (has_rules(step.decision.kind) ? rules_text(step.decision) : "");
}

}  // namespace ondeloc
