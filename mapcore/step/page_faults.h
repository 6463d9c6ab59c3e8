// SPDX-License-Identifier: Apache-2.0
// The addresses of the page faults of one thread, sampled by the kernel: perf's software event for
// page faults, outside of the kernel, for a thread of the same user (perf_event_open(2)).
//
// With kernel.numa_balancing the kernel takes pages away from a program now and then, and the next
// access of any thread is such a fault. The kernel writes a record for each sample into a ring of
// 16 KiB that it shares with the mapper. If the ring is full, the kernel drops samples. Ownership:
// a PageFaults owns descriptor and ring. Thread safety: for one thread. Errors: a sentence, with
// the errno as its code.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "mapcore/base/result.h"
#include "mapcore/base/unique_fd.h"

namespace ondeloc {

using OnAddress = std::function<void(std::uint64_t address)>;

// Calls on_address for each sample between the positions `tail` and `head` of the ring, which count
// bytes since the ring was made. A record that does not fit ends the reading. REQUIRES: the size of
// the ring is a power of two.
void read_fault_records(std::span<const std::byte> ring, std::uint64_t tail, std::uint64_t head,
                        const OnAddress& on_address);

class PageFaults {
 public:
  // Samples every fault of the thread from now on.
  static Result<PageFaults> of_thread(pid_t thread);

  PageFaults(PageFaults&& other) noexcept;
  PageFaults& operator=(PageFaults&& other) noexcept;
  ~PageFaults();

  // Hands out the samples since the last call.
  void take(const OnAddress& on_address);
  // From now on one fault in `period` is sampled. REQUIRES: period > 0.
  void sample_every(std::uint64_t period);

 private:
  PageFaults(UniqueFd fd, void* ring) : fd_(std::move(fd)), ring_(ring) {}

  UniqueFd fd_;
  void* ring_ = nullptr;  // one page that the kernel keeps up to date, and then the records
};

}  // namespace ondeloc
