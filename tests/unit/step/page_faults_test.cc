// SPDX-License-Identifier: Apache-2.0
// Real page faults of threads of this process: pages that are given back to the kernel fault again.
#include "mapcore/step/page_faults.h"

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "tests/unit/catch.h"

namespace page_faults_test {
using namespace ondeloc;

namespace {

constexpr std::size_t kPages = 64;

struct Pages {
  std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  char* memory = static_cast<char*>(
      mmap(nullptr, kPages* page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  Pages() { madvise(memory, kPages * page, MADV_NOHUGEPAGE); }
  ~Pages() { munmap(memory, kPages * page); }
  Pages(const Pages&) = delete;
  Pages& operator=(const Pages&) = delete;

  void give_back() const { madvise(memory, kPages * page, MADV_DONTNEED); }
  void touch() const {
    for (std::size_t i = 0; i < kPages; ++i) memory[i * page] = 1;
  }
  bool has(std::uint64_t address) const {
    const auto first = reinterpret_cast<std::uint64_t>(memory);
    return address >= first && address < first + kPages * page;
  }
};

// A thread that touches all pages each time that it is told to.
class Toucher {
 public:
  explicit Toucher(const Pages& pages) : thread_([this, &pages] { work(pages); }) {
    while (tid_ == 0) std::this_thread::yield();
  }
  ~Toucher() {
    wanted_ = -1;
    thread_.join();
  }
  void touch() {
    const int before = done_;
    wanted_ = 1;
    while (done_ == before) std::this_thread::yield();
  }
  pid_t tid() const { return tid_; }

 private:
  void work(const Pages& pages) {
    tid_ = gettid();
    for (int wanted = 0; wanted >= 0; wanted = wanted_.exchange(wanted_ < 0 ? -1 : 0)) {
      if (wanted == 0) {
        std::this_thread::yield();
        continue;
      }
      pages.touch();
      ++done_;
    }
  }
  std::atomic<pid_t> tid_{0};
  std::atomic<int> wanted_{0}, done_{0};
  std::thread thread_;
};

std::multiset<std::uint64_t> taken(PageFaults& faults, const Pages& pages) {
  std::multiset<std::uint64_t> found;
  faults.take([&](std::uint64_t address) {
    if (pages.has(address)) found.insert(address);
  });
  return found;
}

std::vector<std::uint64_t> addresses_in(const std::vector<std::byte>& ring, std::uint64_t tail,
                                        std::uint64_t head) {
  std::vector<std::uint64_t> found;
  read_fault_records(ring, tail, head, [&](std::uint64_t address) { found.push_back(address); });
  return found;
}

// Writes a record behind `head`, as the kernel does.
void put(std::vector<std::byte>& ring, std::uint64_t& head, std::uint32_t type, std::uint16_t size,
         std::uint64_t address) {
  const perf_event_header header{type, 0, size};
  const auto put_at = [&](std::uint64_t at, const void* from) {
    std::memcpy(&ring[at % ring.size()], from, 8);
  };
  put_at(head, &header);
  put_at(head + 8, &address);
  head += size;
}

}  // namespace

TEST_CASE("the faults of each thread have their addresses, or a sentence says why not", "[perf]") {
  const Pages pages;
  Toucher first(pages), second(pages);
  auto of_first = PageFaults::of_thread(first.tid()),
       of_second = PageFaults::of_thread(second.tid());
  if (!of_first) {
    CAPTURE(of_first.error().message());
    CHECK_FALSE(of_first.error().message().empty());
    CHECK(of_first.error().code() != 0);
    ONDELOC_SKIP("needs perf events");
  }
  REQUIRE(of_second);
  first.touch();
  CHECK(taken(*of_first, pages).size() == kPages);
  CHECK(taken(*of_second, pages).empty());
  second.touch();  // the pages are there
  pages.give_back();
  second.touch();
  CHECK(taken(*of_first, pages).empty());
  const auto found = taken(*of_second, pages);
  CHECK(found.size() == kPages);
  CHECK(std::set(found.begin(), found.end()).size() == kPages);
}

TEST_CASE("one fault of a period is sampled, and a full ring drops samples", "[perf]") {
  const Pages pages;
  Toucher thread(pages);
  auto opened = PageFaults::of_thread(thread.tid());
  if (!opened) ONDELOC_SKIP("needs perf events");
  PageFaults faults = *std::move(opened);
  const auto touch_often = [&](int times) {
    for (int i = 0; i < times; ++i) {
      pages.give_back();
      thread.touch();
    }
    return taken(faults, pages).size();
  };
  faults.sample_every(16);
  const std::size_t rare = touch_often(8);
  CHECK(rare > 8 * kPages / 16 / 2);
  CHECK(rare < 8 * kPages / 16 * 2);
  faults.sample_every(1);
  const std::size_t most = touch_often(64);
  CHECK(most > 4);
  CHECK(most <= std::max<std::size_t>(16384, pages.page) / 16);
  CHECK(touch_often(2) >= kPages);
}

TEST_CASE("a thread that has ended is told by its errno") {
  const auto none = PageFaults::of_thread(1 << 30);
  REQUIRE_FALSE(none);
  const int code = none.error().code();
  CHECK((code == ESRCH || code == EACCES || code == EPERM || code == ENOSYS));
}

TEST_CASE("records are read over the end of the ring, and others are passed over") {
  std::vector<std::byte> ring(128);
  std::uint64_t head = 1024 + 88;
  const std::uint64_t tail = head;
  put(ring, head, PERF_RECORD_SAMPLE, 16, 0x1000);
  put(ring, head, PERF_RECORD_LOST, 24, 7);
  put(ring, head, PERF_RECORD_SAMPLE, 24, 0x2000);
  CHECK(addresses_in(ring, tail, head) == std::vector<std::uint64_t>{0x1000, 0x2000});
  CHECK(addresses_in(ring, tail, tail).empty());
  // A position without a whole record before `head`.
  CHECK(addresses_in(ring, tail, tail + 8).empty());
}

TEST_CASE("a ring that makes no sense is not read beyond its end") {
  std::vector<std::byte> ring(64);
  CHECK(addresses_in(ring, 0, 64).empty());  // a record of no bytes
  CHECK(addresses_in(ring, 0, 72).empty());  // more than the ring has
  CHECK(addresses_in(ring, 64, 0).empty());  // backwards
  CHECK(addresses_in(ring, 4, 60).empty());  // not a multiple of eight
  CHECK(addresses_in({}, 0, 0).empty());
  std::uint64_t head = 0;
  put(ring, head, PERF_RECORD_SAMPLE, 12, 5);
  CHECK(addresses_in(ring, 0, 64).empty());
  head = 0;
  put(ring, head, PERF_RECORD_SAMPLE, 8, 5);  // no room for an address
  CHECK(addresses_in(ring, 0, 8).empty());
}

}  // namespace page_faults_test
