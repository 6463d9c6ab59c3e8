// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/persistent.h"

#include <sys/mman.h>

#include "pmix_hooks/rank/addition_map.h"
#include "pmix_hooks/rank/innermost.h"

namespace ondeloc {
namespace {

AdditionMap by_request;
void (*add_chosen)(const Addition& what);

// What is to be added, noted before the start: after it another thread may already hold the object.
struct Noted {
  void* request;
  Addition what;
};
constexpr std::size_t kOnStack = 64;

// Memory for more notes than that. One piece is kept for the next such call.
struct Piece {
  std::size_t bytes;
  Noted* notes() { return reinterpret_cast<Noted*>(this + 1); }
};
std::atomic<Piece*> kept{nullptr};

void keep(Piece* piece) {
  if (Piece* other = kept.exchange(piece, std::memory_order_acq_rel)) munmap(other, other->bytes);
}

// Null: no memory.
Piece* take_piece(std::size_t count) {
  const std::size_t wanted = sizeof(Piece) + count * sizeof(Noted);
  Piece* piece = kept.exchange(nullptr, std::memory_order_acq_rel);
  if (piece != nullptr && piece->bytes >= wanted) return piece;
  if (piece != nullptr) munmap(piece, piece->bytes);
  void* memory = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  piece = static_cast<Piece*>(memory);
  piece->bytes = wanted;
  return piece;
}

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

int start_noted(std::size_t count, open_mpi::Handle* requests, Start start, void* function,
                Noted* notes) {
  for (std::size_t i = 0; i < count; ++i) notes[i] = {requests[i], by_request.lookup(requests[i])};
  const Innermost here;
  const int rc = start(function, count, requests);
  if (rc != open_mpi::kSuccess || !here.counts()) return rc;
  for (std::size_t i = 0; i < count; ++i) {
    follow(notes[i], requests[i]);
    add_chosen(notes[i].what);
  }
  return rc;
}

int start_few(std::size_t count, open_mpi::Handle* requests, Start start, void* function) {
  Noted notes[kOnStack];
  return start_noted(count, requests, start, function, notes);
}

// In one call, as the program makes it: MPI looks at all requests before it starts the first.
int start_many(std::size_t count, open_mpi::Handle* requests, Start start, void* function) {
  Piece* piece = take_piece(count);
  if (piece == nullptr) {
    add_note(ONDELOC_NOTE_NO_MEMORY);
    return start(function, count, requests);
  }
  const int rc = start_noted(count, requests, start, function, piece->notes());
  keep(piece);
  return rc;
}

}  // namespace

int persistent_start(std::size_t count, open_mpi::Handle* requests, Start start, void* function) {
  if (requests == nullptr || !counting.active.load(std::memory_order_relaxed))
    return start(function, count, requests);
  return (count <= kOnStack ? start_few : start_many)(count, requests, start, function);
}

}  // namespace ondeloc
