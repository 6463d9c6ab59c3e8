// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/thread_texts.h"

#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

CpuSet cpus(const char* list) { return *CpuSet::parse_list(list); }

}  // namespace

TEST_CASE("Threads keep their order in the texts of OpenMP and likwid") {
  const RankCpus placement{cpus("4"), cpus("0"), cpus("12")};
  CHECK(to_omp_places(placement) == "{4},{0},{12}\n");
  CHECK(*to_gomp_affinity(placement) == "4 0 12\n");
  CHECK(*to_likwid_pin(placement) == "4,0,12\n");
  CHECK(to_taskset(placement) == "0,4,12\n");
}

TEST_CASE("A thread with several CPUs is a place, but not one CPU") {
  const RankCpus placement{cpus("0"), cpus("1-2,9")};
  CHECK(to_omp_places(placement) == "{0},{1,2,9}\n");
  CHECK(to_taskset(placement) == "0-2,9\n");
  const char* const kRefused =
      "thread 1 has the CPUs 1-2,9, but this format names one CPU for each thread: use --format "
      "omp-places, or -c 1";
  CHECK(to_gomp_affinity(placement).error().message() == kRefused);
  CHECK(to_likwid_pin(placement).error().message() == kRefused);
}
