// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/persistent.h"

#include "pmix_hooks/rank/addition_map.h"

namespace ondeloc {
namespace {

AdditionMap by_request;
__thread int depth __attribute__((tls_model("initial-exec")));
void (*add_chosen)(const Addition& what);

// What is to be added, noted before the start: after it another thread may already hold the object.
struct Noted {
  void* request;
  Addition what;
};
constexpr std::size_t kAtOnce = 64;  // notes on the stack

// ob1 may start another object in the place of one that is still busy inside. The old one is not
// forgotten: it may be another thread's by now, and if it is not, isend_init or irecv_init will say
// what it becomes.
void follow(const Noted& before, void* now) {
  if (before.request == now) return;
  if (before.what.place != 0)
    persistent_remember(now, before.what);
  else
    persistent_forget(now);
}

}  // namespace

template <Way kWay>
void choose_add(bool multiple) {
  add_chosen = multiple ? add<true, kWay> : add<false, kWay>;
}

void persistent_setup(bool multiple, Way way) {
  if (way == Way::kShm) choose_add<Way::kShm>(multiple);
  if (way == Way::kPmix) choose_add<Way::kPmix>(multiple);
  if (way == Way::kRecord) choose_add<Way::kRecord>(multiple);
}

void add_started(const Addition& what) { add_chosen(what); }

void persistent_remember(void* request, const Addition& what) {
  by_request.remember(request, what);
}

void persistent_forget(void* request) { by_request.forget(request); }

void persistent_drop(open_mpi::Handle* request) {
  if (request != nullptr && counting.active.load(std::memory_order_relaxed))
    persistent_forget(*request);
}

namespace {

// REQUIRES: count <= kAtOnce.
int start_some(std::size_t count, open_mpi::Handle* requests, Start start, void* function) {
  Noted notes[kAtOnce];
  for (std::size_t i = 0; i < count; ++i) notes[i] = {requests[i], by_request.lookup(requests[i])};
  ++depth;
  const int rc = start(function, count, requests);
  --depth;
  for (std::size_t i = 0; rc == open_mpi::kSuccess && i < count; ++i) {
    follow(notes[i], requests[i]);
    add_chosen(notes[i].what);
  }
  return rc;
}

}  // namespace

// Piece by piece: memory for the notes of any number would have to be allocated at every start.
int persistent_start(std::size_t count, open_mpi::Handle* requests, Start start, void* function) {
  if (depth > 0 || requests == nullptr || !counting.active.load(std::memory_order_relaxed))
    return start(function, count, requests);
  int rc = open_mpi::kSuccess;
  std::size_t done = 0;
  do {
    const std::size_t some = count - done < kAtOnce ? count - done : kAtOnce;
    rc = start_some(some, requests + done, start, function);
    done += some;
  } while (rc == open_mpi::kSuccess && done < count);
  return rc;
}

}  // namespace ondeloc
