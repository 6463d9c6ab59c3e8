// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/event_counts.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>

namespace ondeloc {

void EventCounts::note(const SegmentView& view, const Record& record) {
  const LocalRank rank(view.local_of_world(head_of(record).world_rank));
  if (std::holds_alternative<ondeloc_record_attach>(record)) {
    ++events_.attach;
  } else if (const auto* sample = std::get_if<ondeloc_record_sample>(&record)) {
    ++events_.sample;
    ++samples_;
    sample_bytes_ += static_cast<double>(sample->local.bytes);
    note_sample(rank, sample->sequence, 1);
  } else if (std::holds_alternative<RowRecord>(record)) {
    ++events_.row;
  } else if (const auto* detach = std::get_if<ondeloc_record_detach>(&record)) {
    ++events_.detach;
    note_sample(rank, detach->samples, 0);
    if (ranks_.has(rank))
      ranks_[rank].messages = detach->local.messages + detach->off_node.messages;
  } else if (const auto* end = std::get_if<ondeloc_record_end>(&record)) {
    events_.dropped = end->dropped;
  }
}

// SAMPLEs are numbered from 1, and DETACH says how many were sent: a gap is a lost event.
void EventCounts::note_sample(LocalRank rank, std::uint64_t sent, std::uint64_t came) {
  if (!ranks_.has(rank)) return;
  ranks_[rank].samples_sent = std::max(ranks_[rank].samples_sent, sent);
  ranks_[rank].samples_came += came;
}

void EventCounts::take_samples(ReportInterval& line) {
  line.samples = std::exchange(samples_, 0);
  line.sample_bytes = std::exchange(sample_bytes_, 0);
}

ReportEvents EventCounts::totals() const {
  std::uint64_t missing = 0;
  for (const OfRank& rank : ranks_)
    missing += rank.samples_sent - std::min(rank.samples_sent, rank.samples_came);
  ReportEvents totals = events_;
  totals.dropped = std::max(totals.dropped, missing);
  return totals;
}

std::optional<std::string> EventCounts::note_of_missing(const Counters& counters) const {
  std::uint64_t missing = 0;
  for (const LocalRank rank : ranks_.ids()) {
    const std::uint64_t told = ranks_[rank].messages;
    missing += told - std::min(told, counters.counted_by(rank.value).messages);
  }
  if (missing == 0) return {};
  return fmt::format(
      "{} messages are missing in the matrix: the events that told of them were lost", missing);
}

}  // namespace ondeloc
