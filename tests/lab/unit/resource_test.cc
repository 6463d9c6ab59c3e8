// SPDX-License-Identifier: MIT
#include "tests/lab/plugin/resource.h"

#include <algorithm>
#include <random>

#include "tests/unit/catch.h"

using numalab::Resource;

TEST_CASE("a resource without a limit counts bytes and delays nobody") {
  Resource free(0);
  for (int i = 0; i < 100; ++i) CHECK(free.use(5, 64) == 0);
  CHECK(free.counts().bytes == 6400);
  CHECK(free.counts().delay_ps == 0);
}

TEST_CASE("requests beyond the bandwidth are done when there is room") {
  Resource one(1);  // 1 GB/s: 1000 bytes a microsecond
  std::uint64_t last = 0;
  for (int i = 0; i < 1000; ++i) last = std::max(last, one.use(0, 64));
  CHECK(last / 1e6 == Approx(64).epsilon(0.1));  // 64,000 bytes take 64 us
}

TEST_CASE("a bandwidth of less than a request a microsecond is a limit too") {
  for (const double gbytes : {0.001, 0.06, 0.3}) {
    Resource slow(gbytes);
    std::uint64_t last = 0;
    for (int i = 0; i < 500; ++i) last = std::max(last, slow.use(0, 72));
    INFO(gbytes << " GB/s");
    CHECK(500 * 72 / (static_cast<double>(last) / 1000) == Approx(gbytes).epsilon(0.12));
  }
}

TEST_CASE("the mean delay is that of an M/D/1 queue") {
  const double gbytes = 9, service_ns = 64 / gbytes;
  std::mt19937_64 random(1);
  for (const double load : {0.3, 0.5, 0.7, 0.8}) {
    Resource memory(gbytes);
    std::exponential_distribution<double> gap(load / service_ns);
    double now = 1e4;
    for (int i = 0; i < 200'000; ++i) {
      now += gap(random);
      memory.use(static_cast<std::uint64_t>(now * 1000), 64);
    }
    const auto counts = memory.counts();
    const double mean_ns = static_cast<double>(counts.delay_ps) / 1000 / 200'000;
    INFO("load " << load);
    CHECK(mean_ns == Approx(load / (2 * (1 - load)) * service_ns).epsilon(0.2));
  }
}

TEST_CASE("a request that is late in the host's order does not wait for later ones") {
  Resource memory(1);
  for (int i = 0; i < 500; ++i) memory.use(200'000'000, 64);
  CHECK(memory.use(100'000'000, 64) == 0);
}
