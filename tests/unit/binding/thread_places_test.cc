// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/thread_places.h"

#include <unistd.h>

#include <deque>

#include "mapcore/binding/affinity.h"
#include "mapcore/binding/proc.h"
#include "tests/unit/binding/worker.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

// The runtime of ThreadSanitizer starts a thread of its own with the program's first one, so these
// cases are not for it.
#ifndef __SANITIZE_THREAD__
namespace {

// Gives the main thread its CPUs back.
struct Restored {
  CpuSet cpus = *get_affinity(0);
  ~Restored() { (void)set_affinity(0, cpus); }
};

bool is_alone() { return read_threads(getpid()).size() == 1; }

}  // namespace

TEST_CASE("threads get their places in the order of their creation", "[cpus]") {
  const Restored before;
  const auto list = before.cpus.to_vector();
  if (list.size() < 2) ONDELOC_SKIP("needs two CPUs");
  REQUIRE(is_alone());
  const CpuSet first = one_cpu(list.front()), second = one_cpu(list.back()), &all = before.cpus;
  ThreadPlaces places({second, first, {}, second}, all);
  CHECK(places.look(getpid()));
  CHECK(*get_affinity(0) == all);  // a runtime may still ask how many CPUs there are

  std::deque<Worker> threads(4);
  CHECK(places.look(getpid()));
  CHECK(places.seen() == 5);
  CHECK(*get_affinity(0) == second);
  CHECK(threads[0].cpus() == first);
  CHECK(threads[1].cpus() == all);  // the file leaves it out
  CHECK(threads[2].cpus() == second);
  CHECK(threads[3].cpus() == all);  // beyond the last place

  // Inherits the one CPU of the main thread.
  Worker last;
  CHECK(last.cpus() == second);
  CHECK(places.look(getpid()));
  CHECK(last.cpus() == all);

  CHECK(set_affinity(threads[0].tid(), second).ok());
  CHECK(!places.look(getpid()));
  CHECK(threads[0].cpus() == second);  // what a program does afterwards stays
}

TEST_CASE("an ended thread keeps its number", "[cpus]") {
  const Restored before;
  const auto list = before.cpus.to_vector();
  if (list.size() < 2) ONDELOC_SKIP("needs two CPUs");
  REQUIRE(is_alone());
  const CpuSet first = one_cpu(list.front()), second = one_cpu(list.back()), &all = before.cpus;
  ThreadPlaces places({all, first, second}, all);
  Worker early;
  places.look(getpid());
  CHECK(early.cpus() == first);
  early.end();
  Worker late;
  places.look(getpid());
  CHECK(late.cpus() == second);
  CHECK(places.seen() == 3);
}

TEST_CASE("a main thread that alone has a place gets it at once", "[cpus]") {
  const Restored before;
  const CpuSet first = one_cpu(before.cpus.to_vector().front());
  REQUIRE(is_alone());
  ThreadPlaces places({first}, before.cpus);
  CHECK(places.look(getpid()));
  CHECK(*get_affinity(0) == first);
}
#endif

TEST_CASE("a process that is gone has no threads to bind") {
  ThreadPlaces places({{}, {}}, *get_affinity(0));
  CHECK(!places.look(1 << 30));
  CHECK(places.seen() == 0);
}
