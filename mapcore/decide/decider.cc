// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/decider.h"

#include <algorithm>
#include <array>

namespace ondeloc {
namespace {

constexpr double kDoubt = 2;  // times the gain that was not kept
// An interval in which the pattern changes looks like a phase of its own: one is not too many.
constexpr int kMostInVain = 2;
// Share of the time that far memory is taken to cost a program whose pace nobody knows. In the lab
// steps with far memory took 2 to 42 % longer.
constexpr double kCostOfFarMemory = 0.05;

constexpr auto kDecisions = std::to_array<DecisionInfo>({
    {DecisionKind::kWaits, "waits", "no decision was due"},
    {DecisionKind::kSilent, "silent", "no traffic to map"},
    {DecisionKind::kFixed, "fixed", "ranks may not be moved; the notes say why"},
    {DecisionKind::kCheap, "cheap",
     "all messages together take less time than the least gain of a move"},
    {DecisionKind::kNearBest, "near-best", "no mapping can reach the least gain of a move"},
    {DecisionKind::kEarly, "early", "the program's pace without moves is not known yet"},
    {DecisionKind::kFailed, "failed", "the algorithm found no mapping; the notes say why"},
    {DecisionKind::kKeeps, "keeps", "no better mapping was found"},
    {DecisionKind::kSmall, "small", "better, but the gain is below the threshold"},
    {DecisionKind::kFleeting, "fleeting",
     "better, but the phase before lasted for one interval only"},
    {DecisionKind::kUnpaid, "unpaid", "better, but earlier migrations have not paid off yet"},
    {DecisionKind::kNoRoom, "no-room", "better, but a NUMA node has no room for the memory"},
    {DecisionKind::kFew, "few",
     "too few ranks would change their NUMA node or cache (decide=many)"},
    {DecisionKind::kWatched, "watched", "better, but the ranks are only watched (decide=never)"},
    {DecisionKind::kRemaps, "remaps", "ranks move"},
    {DecisionKind::kReturns, "returns",
     "ranks move back to the start: the loss exceeds the cost of doing so"},
    {DecisionKind::kSlower, "slower",
     "ranks move back: the program was slower after the last moves"},
    {DecisionKind::kBrings, "brings",
     "pages follow: with far pages the predicted gain was not seen"},
    {DecisionKind::kRepeats, "repeats", "ranks move as the report of repeat= says"},
    {DecisionKind::kFollows, "follows",
     "the step's CPUs or a rank's GPUs changed; ranks were placed again"},
});

bool has_room(const Candidate& candidate) { return !candidate.has_room || candidate.has_room(); }

}  // namespace

std::span<const DecisionInfo> decisions() { return kDecisions; }

const char* name_of(DecisionKind kind) { return kDecisions[static_cast<std::size_t>(kind)].name; }

std::optional<Decision> Decider::observe(const Observation& seen) {
  seconds_ = seen.seconds;
  cost_now_ = seen.cost_now;
  cost_start_ = seen.cost_start;
  since_moves_ += seconds_;
  silence_ = cost_now_ > 0 ? 0 : silence_ + seconds_;
  const bool waited = waits_for_pace() && !trial_.is_early();
  const double age = age_of_phase(seen);
  wants_pace_ = seen.wants_pace;
  if (waited && phase_.is_new()) ++waits_in_vain_;
  ledger_.add(cost_now_, cost_start_);
  if (seen.sent > 0) trial_.add({seen.sent, seconds_, phase_.is_new(), seen.own});
  if (trial_.knows_pace() && waits_in_vain_ < kMostInVain) waits_in_vain_ = 0;
  horizon_ = age + until_next_look();
  if (cost_now_ == 0 || seen.traffic.ranks() < 2) return undecided(DecisionKind::kSilent);
  if (seen.is_fixed) return undecided(DecisionKind::kFixed);
  return std::nullopt;
}

// While ranks move they may exchange so few messages that one pair of them looks like another
// phase, which would end the trial of these moves.
double Decider::age_of_phase(const Observation& seen) {
  if (tries() && trial_.skips()) return phase_.pause(seconds_);
  return phase_.advance(seen.traffic, seconds_);
}

Decision Decider::undecided(DecisionKind kind) const {
  Decision decision;
  decision.kind = kind;
  decision.horizon = horizon_;
  decision.ledger = ledger_.balance();
  return decision;
}

Decision Decider::decide(const Candidate& wanted, const Candidate& start, const Candidate& tried,
                         const Candidate& bringing) {
  // The ways back come first: what is lost so far is certain, a gain is only predicted.
  std::optional<Decision> back;
  if (tries()) {
    back = bring(bringing);
    if (!back) back = undo(tried);
  }
  if (!back && options_.rule == Decide::kAuto) back = way_back(start);
  Decision decision = back ? *back : judge(wanted);
  if (decision.moves() && options_.rule == Decide::kNever) decision.kind = DecisionKind::kWatched;
  note_moves(decision, bringing.changes_cpus);
  return decision;
}

void Decider::note_moves(const Decision& decision, bool has_left_memory) {
  if (decision.acts()) ledger_.add_migration(decision.migration);
  if (decision.moves()) since_moves_ = 0;
  if (decision.kind == DecisionKind::kBrings) trial_.brought();
  if (decision.kind == DecisionKind::kRemaps) trial_.moved(decision.gain / seconds_);
  if (decision.kind == DecisionKind::kReturns) trial_.forget();
  if (decision.kind != DecisionKind::kSlower) return;
  trial_.moved_back(has_left_memory);
  // The price of the moves to come is another one.
  if (has_left_memory) ledger_.renew_credit();
}

double Decider::until_next_look() const {
  const NextLook otherwise = waits_for_pace() ? NextLook::kAsBefore : NextLook::kLater;
  return options_.interval.next(seconds_, phase_.ends_calm() ? NextLook::kSoonest : otherwise);
}

NextLook Decider::next_look(const Decision& decision) const {
  if (phase_.ends_calm()) return NextLook::kSoonest;
  if (decision.acts()) return NextLook::kSooner;
  return decision.kind == DecisionKind::kEarly ? NextLook::kAsBefore : NextLook::kLater;
}

std::optional<Decision> Decider::undo(const Candidate& tried) const {
  const auto loss = trial_.loss();
  if (!loss || !tried.changes_cpus) return std::nullopt;
  const Decision decision = measured(DecisionKind::kSlower, *loss, tried.migration(), horizon_);
  if (decision.gain <= decision.threshold || !has_room(tried)) return std::nullopt;
  return decision;
}

std::optional<Decision> Decider::bring(const Candidate& bringing) const {
  auto share = trial_.shortfall();
  if (!share || !bringing.changes_cpus) return std::nullopt;
  if (trial_.is_shortfall_assumed())
    share = std::min(*share, (bringing.cost - cost_now_) / seconds_);
  if (*share <= 0) return std::nullopt;
  const double horizon = trial_.is_unjudged() ? std::max(horizon_, since_moves_) : horizon_;
  const Decision decision = measured(DecisionKind::kBrings, *share, bringing.migration(), horizon);
  if (decision.gain <= decision.threshold || !has_room(bringing)) return std::nullopt;
  return decision;
}

std::optional<Decision> Decider::bring_in_silence(const Candidate& bringing) {
  if (!tries() || !bringing.changes_cpus) return std::nullopt;
  const Decision decision =
      measured(DecisionKind::kBrings, kCostOfFarMemory, bringing.migration(), silence_);
  if (decision.gain <= decision.threshold || !has_room(bringing)) return std::nullopt;
  note_moves(decision, true);
  return decision;
}

// `share`: the gain as a share of the time.
Decision Decider::measured(DecisionKind kind, double share, double migration,
                           double horizon) const {
  Decision decision = undecided(kind);
  decision.gain = share * seconds_;
  decision.migration = migration;
  decision.horizon = horizon;
  decision.threshold = migration * seconds_ / horizon;
  return decision;
}

bool Decider::waits_for_pace() const {
  if (!tries() || trial_.knows_pace()) return false;
  return (trial_.is_early() && !trial_.has_passed()) || waits_in_phase();
}

bool Decider::waits_in_phase() const {
  return wants_pace_ && phase_.is_young() && waits_in_vain_ < kMostInVain &&
         !trial_.had_no_result();
}

std::optional<Decision> Decider::way_back(const Candidate& start) const {
  if (!start.changes_cpus || !ledger_.should_go_back(0)) return std::nullopt;
  Decision decision = undecided(DecisionKind::kReturns);
  decision.gain = cost_now_ - start.cost;
  decision.migration = start.migration();
  if (!ledger_.should_go_back(decision.migration) || !has_room(start)) return std::nullopt;
  return decision;
}

double Decider::gain_needed(double migration) const {
  if (!weighs_gain()) return 0;
  return std::max(options_.threshold * cost_now_ + migration * seconds_ / horizon_,
                  std::max(options_.least_gain, kDoubt * trial_.broken_promise()) * seconds_);
}

Decision Decider::judge(const Candidate& wanted) const {
  Decision decision = undecided(DecisionKind::kKeeps);
  decision.threshold = gain_needed(0);
  if (wanted.changes_cpus) decision.gain = cost_now_ - wanted.cost;
  if (is_too_cheap()) decision.kind = DecisionKind::kCheap;
  if (waits_for_pace()) decision.kind = DecisionKind::kEarly;
  if (!asks_for_mapping()) return decision;
  if (wanted.is_ruled_out) decision.kind = DecisionKind::kNearBest;
  if (!wanted.changes_cpus || wanted.is_ruled_out) return decision;
  const bool by_gain = weighs_gain();
  if (by_gain && decision.gain <= decision.threshold) {
    if (decision.gain > 0) decision.kind = DecisionKind::kSmall;
    return decision;
  }
  decision.migration = wanted.migration();
  decision.threshold = gain_needed(decision.migration);
  const bool many = options_.rule == Decide::kAlways || wanted.moves_many;
  decision.kind =
      by_gain ? weigh(wanted, decision) : (many ? DecisionKind::kRemaps : DecisionKind::kFew);
  return decision;
}

DecisionKind Decider::weigh(const Candidate& wanted, const Decision& numbers) const {
  if (numbers.gain <= numbers.threshold) return DecisionKind::kSmall;
  if (phase_.is_fleeting()) return DecisionKind::kFleeting;
  const double counted =
      cost_now_ - ledger_.cost_to_count(wanted.cost, cost_start_, numbers.migration);
  if (counted <= numbers.threshold) return DecisionKind::kUnpaid;
  return has_room(wanted) ? DecisionKind::kRemaps : DecisionKind::kNoRoom;
}

}  // namespace ondeloc
