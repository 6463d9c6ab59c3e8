// SPDX-License-Identifier: Apache-2.0
// Threads for the tests of bindings. Each test makes its own; not thread-safe.
#pragma once
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "mapcore/base/cpu_set.h"
#include "mapcore/binding/affinity.h"

namespace ondeloc {

enum class Does { kComputes, kSleeps };

// A thread of this process that computes or sleeps until it is told to end. It has started when the
// constructor returns.
class Worker {
 public:
  explicit Worker(Does does = Does::kSleeps) : thread_([this, does] { work(does); }) {
    while (tid_ == 0) std::this_thread::yield();
  }
  ~Worker() { end(); }
  void end() {
    over_ = true;
    if (thread_.joinable()) thread_.join();
  }
  pid_t tid() const { return tid_; }
  CpuSet cpus() const { return *get_affinity(tid_); }

 private:
  void work(Does does) {
    tid_ = gettid();
    while (!over_)
      if (does == Does::kSleeps) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  std::atomic<pid_t> tid_{0};
  std::atomic<bool> over_{false};
  std::thread thread_;
};

inline CpuSet one_cpu(PuOs cpu) {
  CpuSet set;
  set.set(cpu);
  return set;
}

}  // namespace ondeloc
