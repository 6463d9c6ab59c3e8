// SPDX-License-Identifier: Apache-2.0
#include "mapcore/decide/known_mapping.h"

#include <cmath>

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

Result<Mapping> KnownMapping::compute(std::string_view algorithm, const MapRequest& request) {
  if (split_algorithm(algorithm).name != "coordinated") return compute_mapping(algorithm, request);
  if (knows(request)) return mapping_;
  forget();
  Result<Mapping> found = compute_mapping(algorithm, request);
  if (!found) return found;
  pattern_.keep(request.traffic);
  off_node_.assign(request.off_node.begin(), request.off_node.end());
  previous_ = request.previous;
  mapping_ = *found;
  return found;
}

}  // namespace ondeloc
