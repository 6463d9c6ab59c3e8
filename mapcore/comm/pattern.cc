// SPDX-License-Identifier: Apache-2.0
#include "mapcore/comm/pattern.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

namespace ondeloc {
namespace {

float in_single(double value) {
  constexpr double kMost = std::numeric_limits<float>::max();
  return static_cast<float>(std::min(value, kMost));
}

}  // namespace

void Pattern::keep(const Traffic& traffic) {
  end_.clear();
  larger_.clear();
  bytes_.clear();
  messages_.clear();
  for (int rank = 0; rank < traffic.ranks(); ++rank) {
    for (const Traffic::Edge& edge : traffic.edges_above(rank)) {
      larger_.push_back(edge.peer);
      bytes_.push_back(in_single(edge.bytes));
    }
    for (const double messages : traffic.messages_above(rank))
      messages_.push_back(in_single(messages));
    end_.push_back(larger_.size());
  }
  total_ = traffic.total();
  total_messages_ = traffic.total_messages();
  squares_ = traffic.squares();
}

template <class Visit>
void Pattern::each_pair(int rank, const Traffic& traffic, Visit visit) const {
  const auto i = static_cast<std::size_t>(rank);
  const std::size_t end = end_[i];
  std::size_t here = i == 0 ? 0 : end_[i - 1];
  const auto edges = traffic.edges_above(rank);
  for (std::size_t there = 0; here < end || there < edges.size();) {
    const bool has_both = here < end && there < edges.size();
    const int apart = has_both ? larger_[here] - edges[there].peer : here < end ? -1 : 1;
    visit(apart <= 0 ? static_cast<std::ptrdiff_t>(here) : -1,
          apart >= 0 ? static_cast<std::ptrdiff_t>(there) : -1);
    here += apart <= 0 ? 1 : 0;
    there += apart >= 0 ? 1 : 0;
  }
}

double Pattern::cosine(const Traffic& traffic) const {
  if (total_ == 0 && traffic.total() == 0) return 1;
  if (total_ == 0 || traffic.total() == 0) return 0;
  double dot = 0;
  for (int rank = 0; rank < std::min(ranks(), traffic.ranks()); ++rank) {
    const auto edges = traffic.edges_above(rank);
    each_pair(rank, traffic, [&](std::ptrdiff_t here, std::ptrdiff_t there) {
      if (here >= 0 && there >= 0)
        dot +=
            bytes_[static_cast<std::size_t>(here)] * edges[static_cast<std::size_t>(there)].bytes;
    });
  }
  return 2 * dot / (std::sqrt(squares_) * std::sqrt(traffic.squares()));  // both directions
}

namespace {

double inverse(double total) { return total > 0 ? 1 / total : 0; }

}  // namespace

double Pattern::difference(const Traffic& traffic) const {
  const auto both = [](double x, double y) { return (x > 0) == (y > 0); };
  if (ranks() != traffic.ranks() || !both(total_, traffic.total()) ||
      !both(total_messages_, traffic.total_messages()))
    return 1;
  const double per_byte = inverse(total_), per_message = inverse(total_messages_);
  const double per_byte_there = inverse(traffic.total()),
               per_message_there = inverse(traffic.total_messages());
  double bytes = 0, messages = 0;
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto edges = traffic.edges_above(rank);
    const auto counts = traffic.messages_above(rank);
    each_pair(rank, traffic, [&](std::ptrdiff_t here, std::ptrdiff_t there) {
      double more_bytes = 0, more_messages = 0;
      if (here >= 0) {
        more_bytes = bytes_[static_cast<std::size_t>(here)] * per_byte;
        more_messages = messages_[static_cast<std::size_t>(here)] * per_message;
      }
      if (there >= 0) {
        // Rounded like those that are kept: equal traffic has no difference.
        const auto e = static_cast<std::size_t>(there);
        more_bytes -= in_single(edges[e].bytes) * per_byte_there;
        more_messages -= in_single(counts[e]) * per_message_there;
      }
      bytes += std::abs(more_bytes);
      messages += std::abs(more_messages);
    });
  }
  return std::max(bytes, messages) / 2;
}

}  // namespace ondeloc
