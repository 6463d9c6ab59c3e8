// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/thread_texts.h"

#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

namespace thread_texts_test {
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

TEST_CASE("A rankfile places the threads of one rank, and is read back") {
  const Machine machine = *load_machine("package:2 core:4 pu:2");
  const CpuSet usable = cpus("0-13");
  const RankCpus placement{cpus("4-5"), cpus("0-1,12-13"), cpus("4-5")};
  RankNames names;
  names.threads_of = 3;
  const std::string text =
      "rank 3=localhost slot=0,2,6\nrank 3 thread 0 slot=2\nrank 3 thread 1 slot=0,6\n"
      "rank 3 thread 2 slot=2\n";
  CHECK(*to_rankfile(machine, usable, placement, names) == text);
  CHECK(*parse_rankfile_placement(text, "f", machine, usable) ==
        WorldCpus{{0, placement[0]}, {1, placement[1]}, {2, placement[2]}});
  const std::string gap = "rank 3=localhost slot=0-1\nrank 3 thread 1 slot=1\n";
  CHECK(*parse_rankfile_placement(gap, "f", machine, usable) ==
        WorldCpus{{0, cpus("0-3")}, {1, cpus("2-3")}});
  CHECK(to_rankfile(machine, usable, {cpus("0")}, names).error().message().find("whole cores") !=
        std::string::npos);
  const auto wrong = parse_rankfile_placement(gap + "rank 3 thread 2 slot=2", "f", machine, usable);
  CHECK(wrong.error().message().find("line 3: rank 3 thread 2 would run on CPUs 4-5") !=
        std::string::npos);
}

}  // namespace thread_texts_test
