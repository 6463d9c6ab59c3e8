// SPDX-License-Identifier: Apache-2.0
#include "mapcore/measure/threads.h"

#include <fmt/format.h>

#include <atomic>
#include <memory>
#include <system_error>
#include <utility>

namespace ondeloc {
namespace {

enum class Signal { kWait, kGo, kStop };

// Outlives the call that starts the threads, which does not wait until all of them have seen it.
struct Crew {
  std::function<void(std::size_t)> work;
  std::atomic<Signal> signal{Signal::kWait};

  void give(Signal next) {
    signal = next;
    signal.notify_all();
  }
};

}  // namespace

Status Threads::start(std::size_t count, std::function<void(std::size_t)> work) {
  const auto crew = std::make_shared<Crew>();
  crew->work = std::move(work);
  threads_.reserve(count);
  try {
    for (std::size_t i = 0; i < count; ++i)
      threads_.emplace_back([crew, i] {
        crew->signal.wait(Signal::kWait);
        if (crew->signal == Signal::kGo) crew->work(i);
      });
  } catch (const std::system_error& failure) {  // no thread to be had: ulimit -u, pids.max
    crew->give(Signal::kStop);
    const std::size_t started = threads_.size();
    join();
    return Error(
        fmt::format("only {} of {} threads could be started ({}); allow more with ulimit "
                    "-u, or in the cgroup of the job with pids.max",
                    started, count, failure.code().message()));
  }
  crew->give(Signal::kGo);
  return {};
}

void Threads::join() {
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

}  // namespace ondeloc
