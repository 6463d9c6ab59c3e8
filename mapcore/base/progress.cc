// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/progress.h"

#include <fmt/format.h>

namespace ondeloc {

ProgressMeter::ProgressMeter(Clock::duration delay, bool terminal, Write write)
    : delay_(delay), terminal_(terminal), write_(std::move(write)) {}

std::function<void(double)> ProgressMeter::phase(const std::string& what) {
  const std::shared_ptr<void> end(nullptr, [this](void*) { wipe(); });
  return [this, what, end](double share) { show(what, share); };
}

void ProgressMeter::show(const std::string& what, double share) {
  const auto now = Clock::now();
  const auto pause = std::chrono::milliseconds(!shown_ ? 0 : terminal_ ? 200 : 2000);
  if (now - start_ < delay_ || now - last_ < pause) return;
  last_ = now;
  shown_ = true;
  write_(fmt::format("{}ondeloc: {} {:.0f} %{}", terminal_ ? "\r" : "", what, 100 * share,
                     terminal_ ? "" : "\n"));
}

void ProgressMeter::wipe() {
  if (shown_ && terminal_) write_("\r\033[K");
}

}  // namespace ondeloc
