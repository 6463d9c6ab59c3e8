// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/interval_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "mapcore/decide/verdict.h"
#include "mapcore/mapper/report_levels.h"

namespace ondeloc {
namespace {

// The decision of a line that stands for several intervals is one of the last class among theirs.
enum class Standing { kWaited, kSilent, kStayed, kMoved };

Standing standing_of(const ReportInterval& line) {
  const Decision decision{decision_of(line.decision).value_or(DecisionKind::kWaits)};
  if (line.remapped || decision.acts()) return Standing::kMoved;
  if (decision.kind == DecisionKind::kWaits) return Standing::kWaited;
  return decision.kind == DecisionKind::kSilent ? Standing::kSilent : Standing::kStayed;
}

bool has_moves(const ReportInterval& line) { return standing_of(line) == Standing::kMoved; }

std::optional<double> mean_share(std::optional<double> first, double first_bytes,
                                 std::optional<double> second, double second_bytes) {
  if (!first || !second) return first ? first : second;
  const double bytes = first_bytes + second_bytes;
  return bytes > 0 ? (*first * first_bytes + *second * second_bytes) / bytes : *second;
}

void add_traffic(const ReportInterval& next, ReportInterval& line) {
  line.remote_share_before =
      mean_share(line.remote_share_before, line.bytes, next.remote_share_before, next.bytes);
  line.remote_share_after =
      mean_share(line.remote_share_after, line.bytes, next.remote_share_after, next.bytes);
  line.bytes += next.bytes;
  line.messages += next.messages;
  line.off_node_bytes += next.off_node_bytes;
  line.samples += next.samples;
  line.sample_bytes += next.sample_bytes;
  line.peak_load_before = std::max(line.peak_load_before, next.peak_load_before);
  line.peak_load_after = std::max(line.peak_load_after, next.peak_load_after);
  line.cost_before += next.cost_before;
  line.cost_after += next.cost_after;
  TrafficChange levels = change_of(line.domains);
  const TrafficChange more = change_of(next.domains);
  levels.before += more.before;
  levels.after += more.after;
  line.domains = report_domains(levels);
}

void take_decision(const ReportInterval& next, ReportInterval& line) {
  line.decision = next.decision;
  line.migration = next.migration;
  line.horizon = next.horizon;
}

// A loss in one interval does not lessen what another could have gained.
double sum_of_gains(double first, double second) {
  return first > 0 || second > 0 ? std::max(first, 0.0) + std::max(second, 0.0) : first + second;
}

void add_decision(const ReportInterval& next, ReportInterval& line) {
  const Standing of_line = standing_of(line), of_next = standing_of(next);
  if (of_next != Standing::kWaited) line.ledger = next.ledger;
  if (of_next < of_line) return;
  if (of_next > of_line) {
    take_decision(next, line);
    line.gain = next.gain;
    line.threshold = next.threshold;
    return;
  }
  if (of_next == Standing::kMoved || next.gain >= line.gain) take_decision(next, line);
  line.gain = sum_of_gains(line.gain, next.gain);
  line.threshold += next.threshold;
}

// A rank that moved several times has its last CPUs: repeat= takes the mapping from them.
void add_moves(const ReportInterval& next, ReportInterval& line) {
  line.remapped = line.remapped || next.remapped;
  for (std::size_t i = 0; i < next.moved.size(); ++i) {
    const auto at = std::find(line.moved.begin(), line.moved.end(), next.moved[i]);
    if (at != line.moved.end()) {
      line.moved_to[static_cast<std::size_t>(at - line.moved.begin())] = next.moved_to[i];
    } else {
      line.moved.push_back(next.moved[i]);
      line.moved_to.push_back(next.moved_to[i]);
    }
  }
}

void add(const ReportInterval& next, ReportInterval& line) {
  add_decision(next, line);
  add_moves(next, line);
  add_traffic(next, line);
  line.t = next.t;
  line.interval_ms = next.interval_ms;
  line.count += next.count;
  line.read_us += next.read_us;
  line.compute_us += next.compute_us;
}

}  // namespace

void IntervalLog::keep(ReportInterval line) {
  remaps_ += line.remapped ? 1 : 0;
  intervals_ += line.count;
  quiet_ += has_moves(line) ? 0 : 1;
  kept_.push_back(std::move(line));
  if (quiet_ > most_ || kept_.size() > 2 * most_) shrink();
}

// To leave half of the lines spares most intervals this work.
void IntervalLog::shrink() {
  const std::size_t most_intervals = 2 * intervals_;
  for (std::size_t n = 2; quiet_ > most_ / 2 && n < most_intervals; n *= 2) put_together(n, false);
  if (kept_.size() <= 2 * most_) return;
  for (std::size_t n = 2; kept_.size() > most_ && n < most_intervals; n *= 2) put_together(n, true);
}

// Puts neighbouring lines together to lines of at most `most_intervals` intervals.
void IntervalLog::put_together(std::size_t most_intervals, bool moves_too) {
  const std::size_t old = kept_.size() - std::min(fresh_, kept_.size());
  std::vector<ReportInterval> lines;
  lines.reserve(kept_.size());
  for (std::size_t i = 0; i < kept_.size(); ++i) {
    const bool fits = i > 0 && i < old && lines.back().count + kept_[i].count <= most_intervals;
    const bool moves = fits && (has_moves(lines.back()) || has_moves(kept_[i]));
    if (fits && (!moves || moves_too)) {
      add(kept_[i], lines.back());
      has_joined_moves_ = has_joined_moves_ || moves;
    } else {
      lines.push_back(std::move(kept_[i]));
    }
  }
  kept_ = std::move(lines);
  quiet_ = static_cast<std::size_t>(std::count_if(
      kept_.begin(), kept_.end(), [](const ReportInterval& line) { return !has_moves(line); }));
}

std::string IntervalLog::note() const {
  if (kept_.size() == intervals_) return {};
  return fmt::format("a long run: {} intervals are put together to {} (count tells how many){}",
                     intervals_, kept_.size(),
                     has_joined_moves_ ? ", some with moves of ranks among them" : "");
}

}  // namespace ondeloc
