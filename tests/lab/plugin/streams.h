// SPDX-License-Identifier: MIT
// Finds the misses of a core that continue a stream: the requests under way hide their latency, as
// with a prefetcher.
#pragma once
#include <array>
#include <cstdint>

namespace numalab {

class Streams {
 public:
  // Notes a miss; true when it is at least the third of one stream.
  bool continues(std::uint64_t line) {
    Stream* oldest = &streams_[0];
    for (Stream& stream : streams_) {
      const std::uint64_t step = line - stream.last + kReach;
      if (step <= 2 * kReach) {
        const bool sure = stream.length >= kSure;
        if (line != stream.last) ++stream.length;
        stream.last = line;
        stream.used = ++clock_;
        return sure;
      }
      if (stream.used < oldest->used) oldest = &stream;
    }
    *oldest = {line, 1, ++clock_};
    return false;
  }

 private:
  static constexpr std::uint64_t kReach = 2;  // lines, in either direction
  static constexpr std::uint32_t kSure = 2;
  struct Stream {
    std::uint64_t last = ~std::uint64_t{0} / 2;
    std::uint32_t length = 0;
    std::uint64_t used = 0;
  };
  std::array<Stream, 16> streams_{};
  std::uint64_t clock_ = 0;
};

}  // namespace numalab
