// SPDX-License-Identifier: Apache-2.0
// Binds the threads of a running process, each to a place of its own, in the order in which the
// process creates them. Thread 0 is the main thread.
//
// Threads have no number that the kernel keeps. Those that appear between two looks are ordered by
// the time at which they started and then by their id, which the kernel counts upwards; an ended
// thread keeps its number. A thread that starts and ends between two looks is not seen, and the
// threads after it count one less. Each thread is bound once: what the program does to its mask
// afterwards stays. Thread safety: one object per process, for one thread. Nothing here is fatal: a
// thread that has ended, or that the kernel refuses to bind, is passed over.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "mapcore/base/cpu_set.h"

namespace ondeloc {

class ThreadPlaces {
 public:
  // `places[i]`: the CPUs of thread i; empty: those of the process. `rest`: the CPUs of the
  // process, for threads without a place: they have inherited the mask of the thread that created
  // them, which may be one CPU.
  ThreadPlaces(std::vector<CpuSet> places, CpuSet rest)
      : places_(std::move(places)), rest_(std::move(rest)) {}

  // Binds threads that were not seen before; returns true if there were some. The main thread gets
  // its place as soon as there is a second thread, because a runtime asks for the CPUs of the main
  // thread to find out how many threads it should create.
  bool look(pid_t pid);

  std::size_t seen() const { return next_; }  // threads so far, ended ones too

 private:
  std::vector<pid_t> newcomers(pid_t pid);
  void bind(pid_t tid, std::size_t number);

  std::vector<CpuSet> places_;
  CpuSet rest_;
  std::set<pid_t> known_;  // threads of the last look
  std::size_t next_ = 0;   // number of the next new thread
  bool main_bound_ = false;
};

}  // namespace ondeloc
