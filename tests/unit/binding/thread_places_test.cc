// SPDX-License-Identifier: Apache-2.0
#include "mapcore/binding/thread_places.h"

#include <unistd.h>

#include <atomic>
#include <deque>
#include <thread>

#include "mapcore/binding/affinity.h"
#include "mapcore/binding/proc.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

// The runtime of ThreadSanitizer starts a thread of its own with the program's first one, so these
// cases are not for it.
#ifndef __SANITIZE_THREAD__
namespace {

// A thread of this process that waits until it is told to end.
class Waiting {
 public:
  Waiting() : thread_([this] { wait(); }) {
    while (tid_ == 0) std::this_thread::yield();
  }
  ~Waiting() { end(); }
  void end() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  pid_t tid() const { return tid_; }
  CpuSet cpus() const { return *get_affinity(tid_); }

 private:
  void wait() {
    tid_ = gettid();
    while (!over_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::atomic<pid_t> tid_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

// Gives the main thread its CPUs back.
struct Restored {
  CpuSet cpus = *get_affinity(0);
  ~Restored() { (void)set_affinity(0, cpus); }
};

CpuSet one(PuOs cpu) {
  CpuSet set;
  set.set(cpu);
  return set;
}

bool is_alone() { return read_threads(getpid()).size() == 1; }

}  // namespace

TEST_CASE("threads get their places in the order of their creation", "[cpus]") {
  const Restored before;
  const auto list = before.cpus.to_vector();
  if (list.size() < 2) ONDELOC_SKIP("needs two CPUs");
  REQUIRE(is_alone());
  const CpuSet first = one(list.front()), second = one(list.back()), &all = before.cpus;
  ThreadPlaces places({second, first, {}, second}, all);
  CHECK(places.look(getpid()));
  CHECK(*get_affinity(0) == all);  // a runtime may still ask how many CPUs there are

  std::deque<Waiting> threads(4);
  CHECK(places.look(getpid()));
  CHECK(places.seen() == 5);
  CHECK(*get_affinity(0) == second);
  CHECK(threads[0].cpus() == first);
  CHECK(threads[1].cpus() == all);  // the file leaves it out
  CHECK(threads[2].cpus() == second);
  CHECK(threads[3].cpus() == all);  // beyond the last place

  // Inherits the one CPU of the main thread.
  Waiting last;
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
  const CpuSet first = one(list.front()), second = one(list.back()), &all = before.cpus;
  ThreadPlaces places({all, first, second}, all);
  Waiting early;
  places.look(getpid());
  CHECK(early.cpus() == first);
  early.end();
  Waiting late;
  places.look(getpid());
  CHECK(late.cpus() == second);
  CHECK(places.seen() == 3);
}

TEST_CASE("a main thread that alone has a place gets it at once", "[cpus]") {
  const Restored before;
  const CpuSet first = one(before.cpus.to_vector().front());
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
