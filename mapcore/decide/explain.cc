// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "mapcore/base/quantity.h"
#include "mapcore/base/text.h"

namespace ondeloc {
namespace {

std::string share_of(double seconds, double whole) {
  return whole > 0 ? " (" + percent_text(seconds / whole) + ")" : "";
}

std::string head_of(const RunStep& step, std::size_t index) {
  return fmt::format("interval {}, {} to {}{}: {}; {}\n", index, seconds_text(step.begin),
                     seconds_text(step.end),
                     step.count > 1 ? fmt::format(" ({} intervals put together)", step.count) : "",
                     name_of(step.decision.kind), meaning_of(step.decision.kind));
}

// Nothing: the decision was made by the rules.
std::optional<const char*> why_no_rules(DecisionKind kind) {
  switch (kind) {
    case DecisionKind::kReturns:
    case DecisionKind::kSlower:
      return "a move back is decided before them";
    case DecisionKind::kBrings:
      return "pages that follow are decided on before them";
    case DecisionKind::kRepeats:
      return "the moves are those of an earlier run";
    case DecisionKind::kFollows:
      return "the CPUs or GPUs left no choice";
    default:
      return std::nullopt;
  }
}

// Lists the rules up to the rule that failed; a remap passes all rules that its decide= asks.
std::string rules_text(const Run& run, DecisionKind kind) {
  std::string text = "rules\n";
  if (const auto why = why_no_rules(kind)) return text + fmt::format("  not asked: {}\n", *why);
  for (const Rule& rule : rules()) {
    const bool failed =
        std::find(rule.failed.begin(), rule.failed.end(), kind) != rule.failed.end();
    const char* passed = rule.is_asked(run) ? "yes" : "not asked";
    text += fmt::format("  {:<58} {}\n", rule.question, failed ? "no" : passed);
    if (failed) return text + "  later rules were not asked\n";
  }
  return text;
}

const char* gain_of(DecisionKind kind) {
  if (kind == DecisionKind::kSlower) return "gain of moving back, measured";
  if (kind == DecisionKind::kReturns) return "gain of moving back";
  if (kind == DecisionKind::kBrings) return "gain expected of the memory";
  return "gain of the new mapping";
}

// The return to the start is decided by the loss alone.
bool compares_gain(const Run& run, DecisionKind kind) {
  return weighs_gain(run.decide) && kind != DecisionKind::kReturns;
}

// The intervals of a replay do not grow as those of a job do, so that a look may be on several.
std::string numbers_head(const RunStep& step) {
  constexpr double kLonger = 1.5;  // times the interval; the last one of a run may be cut short
  if (step.looked_seconds <= kLonger * (step.end - step.begin))
    return "numbers (times are predicted, of the interval's messages)\n";
  return fmt::format(
      "numbers (times are predicted: the cost of the interval's messages, the gain of\n"
      "those of the last {})\n",
      seconds_text(step.looked_seconds));
}

std::string numbers_text(const Run& run, const RunStep& step) {
  const Decision& decision = step.decision;
  const bool compares = compares_gain(run, decision.kind);
  std::string text = fmt::format(
      "  sent on the node             {}{}\n", bytes_text(step.bytes),
      step.remote_before ? fmt::format(", {:.0f} % between NUMA nodes", 100 * *step.remote_before)
                         : "");
  const auto row = [&text](const char* what, double seconds, const std::string& more) {
    text += fmt::format("  {:<28} {}{}\n", what, seconds_text(seconds), more);
  };
  row("cost of these messages", step.cost, share_of(step.cost, step.end - step.begin));
  row(gain_of(decision.kind), decision.gain, share_of(decision.gain, step.looked_seconds));
  if (compares) row("gain has to exceed", decision.threshold, "");
  row("price of moving", decision.migration, "");
  if (compares) row("time in which it has to pay", decision.horizon, "");
  row("lost so far by moving", decision.ledger, decision.ledger < 0 ? ", that is saved" : "");
  return numbers_head(step) + text;
}

std::string moved_text(const RunStep& step) {
  if (step.moved.empty()) return "no rank moved\n";
  return fmt::format("moved {}: {}\n", counted(step.moved.size(), "rank"),
                     fmt::join(step.moved, ", "));
}

}  // namespace

std::string meaning_of(DecisionKind kind) {
  return decisions()[static_cast<std::size_t>(kind)].meaning;
}

std::string interval_text(const Run& run, std::size_t index) {
  const RunStep& step = run.steps[index];
  return head_of(step, index) + moved_text(step) + numbers_text(run, step) +
         rules_text(run, step.decision.kind);
}

}  // namespace ondeloc
