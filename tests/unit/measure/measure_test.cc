// SPDX-License-Identifier: Apache-2.0
#include "mapcore/measure/measure.h"

#include <set>

#include "mapcore/measure/memory_rate.h"
#include "mapcore/measure/ping_pong.h"
#include "mapcore/measure/timing.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("samples: median, spread, and when they are stable") {
  Samples samples;
  CHECK(samples.median() == 0);
  for (int i = 0; i < 5; ++i) samples.add(10);
  CHECK_FALSE(samples.are_stable());
  for (int i = 0; i < 10; ++i) samples.add(10);
  samples.add(1000);
  CHECK(samples.are_stable());
  CHECK(samples.median() == 10);
  CHECK(samples.spread() == 0);
  for (int i = 0; i < 40; ++i) samples.add(20);
  CHECK(samples.median() == 20);
}

TEST_CASE("pairs of a domain share that domain and are of different cores") {
  const Machine machine = *load_machine("package:2 numa:2 l3:2 core:4 pu:2");
  for (int d = 0; d < kDomainCount; ++d) {
    const auto domain = static_cast<Domain>(d);
    const auto pairs = pairs_of_domain(machine, domain);
    CHECK(pairs.empty() == (domain == Domain::kL2));
    CHECK(pairs.size() <= 3);
    for (const PuPair& pair : pairs)
      CHECK(shared_domain(machine.seat_of(*machine.find(pair.a)),
                          machine.seat_of(*machine.find(pair.b))) == domain);
  }
}

TEST_CASE("two CPUs of this machine answer each other, and read memory", "[cpus]") {
  const Machine machine = *load_machine("host");
  if (machine.allowed.count() < 2) ONDELOC_SKIP("needs two CPUs");
  const auto cpus = machine.allowed.to_vector();
  const auto pair = measure_pair(cpus[0], cpus[1], HomeOf::kReceiver, 0.5);
  // A machine that is busy with other tests may give no answer, which is one sentence.
  if (pair) {
    CHECK(pair->times.latency > 1e-9);
    CHECK(pair->times.bandwidth > 0);
  } else {
    CHECK(pair.error().message().find("too busy") != std::string::npos);
  }
  const auto rates =
      measure_reads(std::vector<Reader>{{cpus[0], cpus[1]}, {cpus[1], cpus[1]}}, 1u << 20, 0.05);
  REQUIRE(rates.ok());
  for (const double rate : *rates) CHECK(rate > 1e6);
}

TEST_CASE("a CPU that is not there is an error, not a crash") {
  CHECK_FALSE(measure_reads(std::vector<Reader>{{PuOs(8000), PuOs(8000)}}, 1u << 16, 0.01).ok());
  CHECK_FALSE(measure_pair(PuOs(8000), PuOs(0), HomeOf::kSender, 0.1).ok());
  CHECK_FALSE(measure_pair(PuOs(0), PuOs(8000), HomeOf::kSender, 0.1).ok());
}
