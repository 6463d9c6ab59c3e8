// SPDX-License-Identifier: MIT
#include "tests/lab/plugin/pacer.h"

#include <thread>

#include "tests/unit/catch.h"

using numalab::Pacer;
using numalab::Pacing;

namespace {

struct Bound {
  explicit Bound(int vcpus, const Pacing& pacing = {})
      : pacer(vcpus, pacing), counters(static_cast<std::size_t>(vcpus)) {
    for (int i = 0; i < vcpus; ++i) pacer.bind(i, &counters[static_cast<std::size_t>(i)]);
    pacer.start(1000);
    for (int i = 0; i < vcpus; ++i) pacer.resumed(i);
  }
  Pacer pacer;
  std::vector<std::uint64_t> counters;
};

}  // namespace

TEST_CASE("a vCPU's time is its base and its counter; the guest's clock never goes back") {
  Bound lab(1);
  CHECK(lab.pacer.now(0) == 1000);
  lab.counters[0] += 500;
  CHECK(lab.pacer.clock(0) == 1500);
  lab.pacer.set(0, 1200);
  CHECK(lab.pacer.now(0) == 1200);
  CHECK(lab.pacer.clock(0) == 1500);
  lab.pacer.add(0, 400);
  CHECK(lab.pacer.clock(0) == 1600);
}

TEST_CASE("no vCPU is further ahead than the window") {
  Pacing pacing;
  pacing.patience_us =
      1'000'000;  // the test is to show who waits for whom, on a loaded machine too
  Bound lab(2, pacing);
  constexpr std::uint64_t kEnd = 200'000'000;
  std::uint64_t furthest = 0;
  const auto run = [&](int me, std::uint64_t step) {
    while (lab.pacer.now(me) < kEnd) {
      lab.pacer.add(me, step);
      lab.pacer.synchronize(me);
      if (me == 0)
        furthest = std::max(furthest, lab.pacer.now(0) - std::min(lab.pacer.now(0),
                                                                  lab.pacer.slowest_or_present()));
    }
    lab.pacer.went_idle(me);
  };
  std::thread fast(run, 0, 900'000), slow(run, 1, 100'000);
  fast.join();
  slow.join();
  CHECK(lab.pacer.counters(0).waits > 0);
  CHECK(lab.pacer.counters(0).timeouts == 0);
  CHECK(furthest <= pacing.window_ps + 900'000);
}

TEST_CASE("a vCPU that was put back is waited for at its new time") {
  Bound lab(2);
  lab.pacer.add(1, 900'000);
  lab.pacer.synchronize(1);  // the others know it at 0.9 us
  lab.pacer.set(1, 1000);
  lab.pacer.add(0, 1'500'000);
  lab.pacer.synchronize(0);
  CHECK(lab.pacer.counters(0).waits == 1);
}

TEST_CASE("a vCPU that comes up to a waiting vCPU wakes it, also when both were put back") {
  Pacing pacing;
  pacing.patience_us = 60'000'000;  // the test would last a minute without being woken
  Bound lab(2, pacing);
  lab.pacer.went_idle(1);
  lab.pacer.add(0, 90'000'000);
  lab.pacer.synchronize(0);  // the present is at 90 us
  lab.pacer.resumed(1);
  lab.pacer.set(0, 20'000'000);
  lab.pacer.set(1, 10'000'000);
  std::thread waiting([&] { lab.pacer.synchronize(0); });
  while (lab.pacer.now(1) < 30'000'000) {
    lab.pacer.add(1, 500'000);
    lab.pacer.synchronize(1);
    if (lab.pacer.now(1) > 19'500'000) break;
  }
  waiting.join();
  CHECK(lab.pacer.counters(0).timeouts == 0);
}

TEST_CASE("a vCPU that waits looks at once when it is poked") {
  Pacing pacing;
  pacing.patience_us = 60'000'000;  // the test would last a minute without the poke
  Bound lab(2, pacing);
  std::thread waiting([&] {
    lab.pacer.add(0, 5'000'000);
    lab.pacer.synchronize(0);
  });
  std::atomic<bool> done{false};
  std::thread other([&] {
    while (!done) lab.pacer.poke(0, 5'000'000);
  });
  waiting.join();
  done = true;
  other.join();
  CHECK(lab.pacer.counters(0).waits == 1);
  CHECK(lab.pacer.counters(0).timeouts == 0);
}

TEST_CASE("the others keep to the time at which a poked vCPU will look") {
  Bound lab(2);
  lab.pacer.add(0, 900'000);
  lab.pacer.synchronize(0);
  lab.pacer.poke(0, 1000);
  lab.pacer.add(1, 1'500'000);
  lab.pacer.synchronize(1);
  CHECK(lab.pacer.counters(1).waits == 1);
}

TEST_CASE("a vCPU that waits in vain goes on, and the wait is counted") {
  Bound lab(2);
  lab.pacer.add(0, 5'000'000);
  lab.pacer.synchronize(0);  // vCPU 1 never comes
  CHECK(lab.pacer.counters(0).timeouts == 1);
  CHECK(lab.pacer.now(0) == 5'001'000);
  CHECK(lab.pacer.unpublished(0) == 0);  // hardware threads pay for new instructions only
  lab.pacer.add(0, 300);
  CHECK(lab.pacer.unpublished(0) == 300);
}

TEST_CASE("a vCPU that sleeps holds nobody back and wakes in the present") {
  Bound lab(2);
  lab.pacer.went_idle(1);
  lab.pacer.add(0, 50'000'000);
  lab.pacer.synchronize(0);
  CHECK(lab.pacer.counters(0).timeouts == 0);
  lab.pacer.resumed(1);
  CHECK(lab.pacer.now(1) == 50'001'000);
}

TEST_CASE("when all sleep, time goes on by hand only") {
  Bound lab(2);
  lab.pacer.went_idle(0);
  CHECK_FALSE(lab.pacer.all_idle());
  lab.pacer.advance_idle(100);
  const std::uint64_t before = lab.pacer.present();
  lab.pacer.went_idle(1);
  lab.pacer.advance_idle(100);
  CHECK(lab.pacer.present() == before + 100);
  std::uint64_t latest = 0;
  lab.pacer.stop([&](std::uint64_t ps) {
    latest = ps;
    CHECK(lab.pacer.running());
  });
  CHECK(latest == before + 100);
  CHECK_FALSE(lab.pacer.running());
}
