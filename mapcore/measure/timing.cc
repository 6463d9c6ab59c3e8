// SPDX-License-Identifier: Apache-2.0
#include "mapcore/measure/timing.h"

#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace ondeloc {
namespace {

constexpr std::size_t kLeastSamples = 11;
constexpr double kStable = 0.03;
constexpr std::size_t kWords = CpuSet::kMaxCpu / (8 * sizeof(unsigned long));

cpu_set_t* as_cpu_set(std::vector<unsigned long>& words) {
  return reinterpret_cast<cpu_set_t*>(words.data());
}

double quantile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

}  // namespace

double now_seconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

std::optional<double> load_of_last_minute() {
  double load = 0;
  if (getloadavg(&load, 1) != 1) return std::nullopt;
  return load;
}

double Samples::median() const { return quantile(values_, 0.5); }

double Samples::spread() const {
  const double middle = median();
  return middle > 0 ? (quantile(values_, 0.75) - quantile(values_, 0.25)) / middle : 0;
}

bool Samples::are_stable() const {
  if (values_.size() < kLeastSamples) return false;
  const std::vector<double> half(values_.begin() + static_cast<std::ptrdiff_t>(values_.size() / 2),
                                 values_.end());
  const double all = median();
  return std::abs(quantile(half, 0.5) - all) <= kStable * all;
}

PinnedHere::PinnedHere(PuOs cpu) : before_(kWords) {
  const std::size_t bytes = kWords * sizeof(unsigned long);
  if (sched_getaffinity(0, bytes, as_cpu_set(before_)) < 0) return;
  std::vector<unsigned long> one(kWords);
  CPU_SET_S(static_cast<std::size_t>(cpu.value), bytes, as_cpu_set(one));
  is_good_ = sched_setaffinity(0, bytes, as_cpu_set(one)) == 0;
}

PinnedHere::~PinnedHere() {
  if (is_good_) sched_setaffinity(0, kWords * sizeof(unsigned long), as_cpu_set(before_));
}

}  // namespace ondeloc
