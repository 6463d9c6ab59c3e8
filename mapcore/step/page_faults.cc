// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/page_faults.h"

#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "mapcore/base/text.h"
#include "mapcore/binding/proc.h"
#include "mapcore/step/perf_event.h"

namespace ondeloc {
namespace {

constexpr std::size_t kRingBytes = 16384;

// The kernel wants a power of two of pages. Pages may be larger than the ring would have to be.
std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }
std::size_t ring_bytes() { return std::max(kRingBytes, page_size()); }
std::size_t mapped_bytes() { return page_size() + ring_bytes(); }

perf_event_attr fault_attributes() {
  perf_event_attr attributes{};
  attributes.size = sizeof(attributes);
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_PAGE_FAULTS;
  attributes.sample_period = 1;
  attributes.sample_type = PERF_SAMPLE_ADDR;
  // kernel.perf_event_paranoid = 2, the kernel's default, asks for it.
  attributes.exclude_kernel = attributes.exclude_hv = 1;
  // The mapper does not wait for samples, so the kernel need not wake it.
  attributes.watermark = 1;
  attributes.wakeup_watermark = UINT32_MAX;
  return attributes;
}

constexpr std::uint64_t kParanoidEnough = 2;

std::string why_no_event(int error) {
  const auto policy = read_small_file("/proc/sys/kernel/perf_event_paranoid", 16);
  const auto level = parse_unsigned(policy ? trim_blanks(*policy) : "", 16);
  return why_no_perf(error, "counter of page faults") +
         (level && *level > kParanoidEnough
              ? "; the administrator can set it: sysctl kernel.perf_event_paranoid=2"
              : "");
}

std::string why_no_ring(int error) {
  if (error != EPERM && error != ENOMEM && error != EAGAIN) return std::strerror(error);
  const auto limit = read_small_file("/proc/sys/kernel/perf_event_mlock_kb", 32);
  return fmt::format(
      "the limits of locked memory are used up (kernel.perf_event_mlock_kb is {}, and ulimit -l); "
      "raise one",
      limit ? trim_blanks(*limit) : "unknown");
}

// Records are multiples of eight bytes, so that none of these values wraps round.
template <class Value>
Value value_at(std::span<const std::byte> ring, std::uint64_t position) {
  Value value;
  static_assert(sizeof(Value) == 8);
  std::memcpy(&value, &ring[position & (ring.size() - 1)], sizeof(value));
  return value;
}

}  // namespace

void read_fault_records(std::span<const std::byte> ring, std::uint64_t tail, std::uint64_t head,
                        const OnAddress& on_address) {
  if (head - tail > ring.size() || ring.size() < 8 || tail % 8 != 0) return;
  while (head - tail >= sizeof(perf_event_header)) {
    const auto header = value_at<perf_event_header>(ring, tail);
    const std::size_t size = header.size;
    if (size < sizeof(header) || size % 8 != 0 || size > head - tail) return;
    if (header.type == PERF_RECORD_SAMPLE && size >= sizeof(header) + sizeof(std::uint64_t))
      on_address(value_at<std::uint64_t>(ring, tail + sizeof(header)));
    tail += size;
  }
}

Result<PageFaults> PageFaults::of_thread(pid_t thread) {
  perf_event_attr attributes = fault_attributes();
  auto fd = open_perf_event(attributes, thread, -1);
  if (!fd) {
    const int error = fd.error().code();
    return Error(why_no_event(error), error);
  }
  void* const ring =
      mmap(nullptr, mapped_bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd->get(), 0);
  if (ring == MAP_FAILED) {
    const int error = errno;
    return Error(why_no_ring(error), error);
  }
  return PageFaults(*std::move(fd), ring);
}

PageFaults::PageFaults(PageFaults&& other) noexcept
    : fd_(std::move(other.fd_)), ring_(std::exchange(other.ring_, nullptr)) {}

PageFaults& PageFaults::operator=(PageFaults&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(ring_, other.ring_);
  return *this;
}

PageFaults::~PageFaults() {
  if (ring_ != nullptr) munmap(ring_, mapped_bytes());
}

void PageFaults::take(const OnAddress& on_address) {
  auto* const shared = static_cast<perf_event_mmap_page*>(ring_);
  const std::uint64_t head = __atomic_load_n(&shared->data_head, __ATOMIC_ACQUIRE);
  const auto* const records = static_cast<const std::byte*>(ring_) + page_size();
  read_fault_records({records, ring_bytes()}, shared->data_tail, head, on_address);
  __atomic_store_n(&shared->data_tail, head, __ATOMIC_RELEASE);
}

void PageFaults::sample_every(std::uint64_t period) {
  (void)ioctl(fd_.get(), PERF_EVENT_IOC_PERIOD, &period);
}

}  // namespace ondeloc
