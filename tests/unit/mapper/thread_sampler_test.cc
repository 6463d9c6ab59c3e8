// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/thread_sampler.h"

#include <unistd.h>

#include "mapcore/binding/memory.h"
#include "tests/unit/catch.h"

namespace thread_sampler_test {
using namespace ondeloc;

namespace {

// The sampler's state after it was asked to follow this thread.
struct Sampled {
  ThreadSampler sampler;
  explicit Sampled(std::size_t nodes) : sampler(1, nodes) {
    const pid_t threads[] = {gettid(), gettid()};
    sampler.follow(LocalRank(0), threads, true);
    sampler.read(ThreadSampler::Clock::now());
  }
  std::string note() const {
    const auto notes = sampler.notes(Ranks(1));
    return notes.empty() ? "" : notes.front();
  }
  bool reads() const { return sampler.next_reading() != ThreadSampler::Clock::time_point::max(); }
};

}  // namespace

TEST_CASE("one NUMA node has no hinting faults, and the note says so") {
  const Sampled one(1);
  CHECK_FALSE(one.reads());
  CHECK(
      one.note() ==
      "threads=sample: page faults are not sampled: this machine has one NUMA node, so the kernel "
      "makes no NUMA hinting faults; threads are arranged as with threads=cores");
}

TEST_CASE(
    "without numa_balancing the note names the setting; with it threads are sampled, or perf "
    "says why not") {
  const Sampled two(2);
  CAPTURE(two.note());
  if (!numa_balancing_on()) {
    CHECK_FALSE(two.reads());
    CHECK(two.note().find("kernel.numa_balancing") != std::string::npos);
  } else {
    CHECK(two.reads() == (two.note().find("not sampled") == std::string::npos));
  }
}

TEST_CASE("threads without a choice of seats are not sampled") {
  ThreadSampler sampler(1, 2);
  const pid_t threads[] = {gettid(), gettid()};
  sampler.follow(LocalRank(0), threads, false);
  CHECK(sampler.next_reading() == ThreadSampler::Clock::time_point::max());
  ReportRank line;
  sampler.fill(LocalRank(0), line);
  CHECK(line.thread_faults == 0);
  CHECK(line.thread_sharing.empty());
}

}  // namespace thread_sampler_test
