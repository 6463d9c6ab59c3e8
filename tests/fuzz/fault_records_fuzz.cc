// SPDX-License-Identifier: Apache-2.0
// Reads perf's records of page faults from a ring that holds the fuzzer's bytes. The first eight
// bytes are the position at which the reading begins, the next eight the number of bytes to read.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "mapcore/step/page_faults.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::uint64_t tail = 0, length = 0;
  if (size < sizeof(tail) + sizeof(length)) return 0;
  std::memcpy(&tail, data, sizeof(tail));
  std::memcpy(&length, data + sizeof(tail), sizeof(length));
  std::array<std::byte, 1024> ring{};
  std::memcpy(ring.data(), data + 16, std::min(size - 16, ring.size()));
  std::size_t samples = 0;
  ondeloc::read_fault_records(ring, tail, tail + length, [&](std::uint64_t) { ++samples; });
  if (samples > ring.size() / 16) std::abort();
  return 0;
}
