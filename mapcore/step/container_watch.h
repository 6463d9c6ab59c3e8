// SPDX-License-Identifier: Apache-2.0
// Notices a container that hides the rank library. The loader in the container then prints an error
// for each program that starts there, and no code of ondeloc runs in it. The mapper sees the
// container from outside: a process of the task in another mount namespace, whose root lacks the
// library's path.
//
// A process that is still setting up its container may lack the path for some milliseconds, so a
// finding needs two looks at the same process and the same program. Only one task is looked at:
// the tasks of a step run in equal containers.
// Thread safety: for one thread. Errors: what cannot be read is not a finding.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "mapcore/step/ranks.h"

namespace ondeloc {

class ContainerWatch {
 public:
  // `library`: path of the rank library on the node; empty: never a finding.
  explicit ContainerWatch(std::string library) : library_(std::move(library)) {}

  // Looks at the first task without an attached process; now and then only, however often it is
  // called.
  void look(const Ranks& ranks);
  // A sentence with the remedy, empty if there is nothing to say. A rank that attached in the end
  // has found its library.
  std::optional<std::string> sentence(const Ranks& ranks) const;

 private:
  struct Suspect {
    LocalRank rank{-1};
    pid_t pid = 0;
    std::string program;  // /proc/PID/exe
    bool operator==(const Suspect&) const = default;
  };
  std::optional<Suspect> suspect_of(const Ranks& ranks) const;

  std::string library_;
  std::optional<Suspect> before_, found_;
  std::chrono::steady_clock::time_point looked_;
  int looks_ = 0;
};

// The process `task` or a descendant of it in another mount namespace than the caller's, under
// whose root `path` does not exist; 0: none. At most 64 processes are looked at.
pid_t process_without(const std::string& path, pid_t task);

}  // namespace ondeloc
