// SPDX-License-Identifier: Apache-2.0
// Waits of tests for what other processes or threads do.
#pragma once

#include <unistd.h>

#include <chrono>

namespace ondeloc {

// Looks every 5 ms whether `holds()` is true. Gives up after five minutes, which only a test that
// fails needs: a busy machine may take long. Returns whether `holds()` was true.
template <class Holds>
bool wait_until(Holds holds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (!holds()) {
    if (std::chrono::steady_clock::now() >= end) return false;
    usleep(5000);
  }
  return true;
}

}  // namespace ondeloc
