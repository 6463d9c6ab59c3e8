// SPDX-License-Identifier: Apache-2.0
// Threads that work side by side: either all of them start, or none of them works.
// Ownership: owns the threads and waits for them at the end of its life. Thread safety: one thread.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

#include "mapcore/base/result.h"

namespace ondeloc {

class Threads {
 public:
  Threads() = default;
  ~Threads() { join(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  // Calls work(0) to work(count - 1), each in a thread of its own. Errors: the user or the cgroup
  // may have no more threads; then no thread is left, and none has called `work`. Once.
  Status start(std::size_t count, std::function<void(std::size_t)> work);
  void join();

 private:
  std::vector<std::thread> threads_;
};

}  // namespace ondeloc
