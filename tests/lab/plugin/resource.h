// SPDX-License-Identifier: MIT
// A memory controller, link or cache port: a limit of bytes a time, and the waiting that it causes.
// Requests come in the order of the host's time, not of simulated time. A queue with a "busy until"
// would charge that disorder as waiting; so capacity is kept in buckets of simulated time.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>

namespace numalab {

struct ResourceCounts {
  std::uint64_t bytes = 0, requests = 0, delay_ps = 0;
};

class Resource {
 public:
  explicit Resource(double gbytes_per_s);  // 0: no limit, bytes are counted only
  // Takes room for `bytes` at or after `when_ps`; returns how long the request waits.
  std::uint64_t use(std::uint64_t when_ps, std::uint32_t bytes);
  ResourceCounts counts() const { return counts_; }
  void reset_counts() { counts_ = {}; }

 private:
  // A bucket is that long, or longer for a bandwidth of which it would hold only some requests:
  // what is left at its end is lost.
  static constexpr std::uint64_t kBucketPs = 1'000'000;
  static constexpr double kLeastCapacity = 1000;  // bytes
  static std::uint64_t bucket_ps(double gbytes_per_s);
  static constexpr std::size_t kBuckets = 1024;
  static constexpr std::uint32_t kLookBack = 4;  // buckets
  struct Bucket {
    std::uint64_t number = 0;
    std::uint32_t used = 0;
  };
  Bucket& bucket(std::uint64_t number) { return buckets_[number % kBuckets]; }
  std::uint32_t load_before(std::uint64_t number);
  std::uint64_t queueing(std::uint32_t load, std::uint32_t bytes) const;

  std::mutex mutex_;
  std::uint64_t bucket_ps_;
  std::uint32_t capacity_;  // bytes a bucket; 0: no limit
  double ps_per_byte_;
  std::array<Bucket, kBuckets> buckets_{};
  ResourceCounts counts_;
};

}  // namespace numalab
