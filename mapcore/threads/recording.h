// SPDX-License-Identifier: Apache-2.0
// Makes a profile of the counts of threads. Now and then it looks how much the counts have grown;
// each growth of a pair is an event. The number of threads is known at the end only, so the events
// wait, compressed, in a memory file. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "mapcore/base/result.h"
#include "mapcore/profile/writer.h"
#include "mapcore/threads/plugin/shared_counts.h"

namespace ondeloc {

class ThreadRecording {
 public:
  // `sample`: the plugin follows one line of so many. `counts` must outlive the object.
  static Result<ThreadRecording> start(const ondeloc_threads::SharedCounts& counts,
                                       std::uint32_t sample);

  void look(std::uint64_t now_ns);  // CLOCK_MONOTONIC
  // Time until the next look is worth it: the resolution is a millisecond, or 1/10000 of a long
  // run, so a profile grows slowly after ten seconds.
  std::uint64_t pause_ns() const;

  std::uint32_t threads() const;  // created so far and counted
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t events() const { return events_; }

  // Writes the profile after a last look(). `notes` are added to those about the recording.
  Status write(const std::string& path, std::vector<std::string> notes);

 private:
  ThreadRecording(const ondeloc_threads::SharedCounts& counts, std::uint32_t sample, UniqueFd file,
                  ProfileWriter waiting)
      : counts_(&counts), sample_(sample), file_(std::move(file)), waiting_(std::move(waiting)) {}
  struct Pair {
    std::uint64_t lines = 0, events = 0;
  };
  void grow(std::uint32_t threads);
  std::uint64_t bytes_of(std::uint64_t lines) const {
    return lines * ondeloc_threads::kLineBytes * sample_;
  }
  Status copy_events(ProfileWriter& writer);
  void add_sums(ProfileWriter& writer) const;
  std::vector<ThreadLabel> labels() const;
  std::vector<std::string> own_notes() const;

  const ondeloc_threads::SharedCounts* counts_;
  std::uint32_t sample_;
  UniqueFd file_;
  ProfileWriter waiting_;
  std::vector<std::vector<Pair>> seen_;  // [to][from]
  std::uint64_t first_ns_ = 0, last_ns_ = 0, cost_ns_ = 0;
  std::uint64_t bytes_ = 0, events_ = 0;
};

std::uint64_t monotonic_ns();

}  // namespace ondeloc
