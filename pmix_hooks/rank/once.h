// SPDX-License-Identifier: Apache-2.0
// Work that is done once in the life of the process. Thread safety: any thread.
#pragma once

#include <sched.h>

#include <atomic>
#include <cstdint>

namespace ondeloc {

// While the first thread runs the work, the others that come to it wait: any thread may make an MPI
// session, also during MPI_Init. pthread_once would need a C library of 2.34.
class Once {
 public:
  template <class Work>
  void run(Work work) {
    State before = State::kNotYet;
    if (state_.compare_exchange_strong(before, State::kNow)) {
      work();
      state_.store(State::kDone);
    }
    while (state_.load() != State::kDone) sched_yield();
  }

 private:
  enum class State { kNotYet, kNow, kDone };
  std::atomic<State> state_{State::kNotYet};
};

}  // namespace ondeloc
