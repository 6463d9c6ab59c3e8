// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/known_mapping.h"

#include <cmath>
#include <utility>

namespace ondeloc {
namespace {

constexpr double kAlike = 0.02;  // share of the traffic that may be elsewhere

// The off-node bytes that one of the two has and the other lacks, as a share of its bytes in the
// node.
double off_node_difference(double total_a, std::span<const double> off_a, double total_b,
                           std::span<const double> off_b) {
  if (off_a.size() != off_b.size()) return 1;
  double sum = 0;
  for (std::size_t i = 0; i < off_a.size(); ++i)
    sum += std::abs(off_a[i] / total_a - off_b[i] / total_b);
  return sum / 2;
}

}  // namespace

bool KnownMapping::knows(const MapRequest& request) const {
  if (previous_.empty()) return false;
  if (!(request.previous == previous_) && !(request.previous == mapping_)) return false;
  if (!(request.traffic.total() > 0) || !(pattern_.total() > 0)) return false;
  return pattern_.difference(request.traffic) <= kAlike &&
         off_node_difference(pattern_.total(), off_node_, request.traffic.total(),
                             request.off_node) <= kAlike;
}

void KnownMapping::keep(const MapRequest& request) {
  pattern_.keep(request.traffic);
  off_node_.assign(request.off_node.begin(), request.off_node.end());
  previous_ = request.previous;
  mapping_.clear();
  least_.reset();
}

// For traffic that is alike, the lower bound grows as the traffic does.
bool KnownMapping::rules_out(const MapRequest& request, const Stake& stake) {
  if (!(stake.needed > 0)) return false;
  if (!least_) least_ = least_cost(request);
  const double growth = pattern_.total() > 0 ? request.traffic.total() / pattern_.total() : 1;
  return stake.cost_now - *least_ * growth <= stake.needed;
}

Result<KnownAnswer> KnownMapping::compute(std::string_view algorithm, const MapRequest& request,
                                          const Stake& stake) {
  const bool searches = split_algorithm(algorithm).name == "coordinated";
  if (searches && !knows(request)) keep(request);
  if (searches && !mapping_.empty()) return KnownAnswer{mapping_};
  if (searches && rules_out(request, stake)) return KnownAnswer{request.previous, true};
  Result<Mapping> found = compute_mapping(algorithm, request);
  if (!found) {
    forget();
    return std::move(found).error();
  }
  if (searches) mapping_ = *found;
  return KnownAnswer{*std::move(found)};
}

}  // namespace ondeloc
