// SPDX-License-Identifier: MIT
#include "tests/lab/plugin/resource.h"

#include <algorithm>
#include <cmath>

namespace numalab {

Resource::Resource(double gbytes_per_s)
    : bucket_ps_(bucket_ps(gbytes_per_s)),
      capacity_(static_cast<std::uint32_t>(gbytes_per_s * static_cast<double>(bucket_ps_ / 1000))),
      ps_per_byte_(gbytes_per_s > 0 ? 1000 / gbytes_per_s : 0) {}

std::uint64_t Resource::bucket_ps(double gbytes_per_s) {
  const double capacity = gbytes_per_s * (kBucketPs / 1000);
  if (capacity <= 0 || capacity >= kLeastCapacity) return kBucketPs;
  return kBucketPs * static_cast<std::uint64_t>(std::ceil(kLeastCapacity / capacity));
}

// The load that a request meets: the mean of the buckets before its own. The last one alone varies
// by a tenth and more, and as the delay grows faster than the load, that would make it too long.
std::uint32_t Resource::load_before(std::uint64_t number) {
  std::uint32_t sum = 0;
  for (std::uint64_t i = 1; i <= kLookBack; ++i) {
    const Bucket& previous = bucket(number - i);
    if (previous.number == number - i) sum += previous.used;
  }
  return sum / kLookBack;
}

// Mean waiting time of an M/D/1 queue at that load.
std::uint64_t Resource::queueing(std::uint32_t load, std::uint32_t bytes) const {
  constexpr double kFullest = 0.95;
  const double rho = std::min(static_cast<double>(load) / capacity_, kFullest);
  return static_cast<std::uint64_t>(rho / (2 * (1 - rho)) * bytes * ps_per_byte_);
}

std::uint64_t Resource::use(std::uint64_t when_ps, std::uint32_t bytes) {
  const std::scoped_lock lock(mutex_);
  std::uint64_t delay = 0;
  std::uint64_t number = when_ps / bucket_ps_;
  for (std::size_t tried = 0; capacity_ != 0 && tried < kBuckets / 2; ++tried, ++number) {
    Bucket& here = bucket(number);
    if (here.number > number) break;  // so late that its bucket is in use for another time
    if (here.number < number) here = {number, 0};
    if (here.used + bytes > capacity_) continue;
    const std::uint64_t begin = number * bucket_ps_;
    delay = (begin > when_ps ? begin - when_ps : 0) + queueing(load_before(number), bytes);
    here.used += bytes;
    break;
  }
  counts_.bytes += bytes;
  ++counts_.requests;
  counts_.delay_ps += delay;
  return delay;
}

}  // namespace numalab
