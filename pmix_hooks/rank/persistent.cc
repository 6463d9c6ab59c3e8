// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/persistent.h"

#include <sys/mman.h>

#include "pmix_hooks/rank/addition_map.h"
#include "pmix_hooks/rank/innermost_call.h"
#include "pmix_hooks/rank/notes.h"
#include "pmix_hooks/rank/request_start.h"

namespace ondeloc {
namespace {

// An addition, noted before the start: after the start another thread may already hold the request.
struct Noted {
  void* request;
  Addition addition;
};
constexpr std::size_t kOnStack = 64;

// Memory for more notes than that. `State` keeps one piece for the next such call.
struct Piece {
  std::size_t bytes;
  Noted* notes() { return reinterpret_cast<Noted*>(this + 1); }
};

struct State {
  AdditionMap by_request;
  void (*add)(const Addition& addition);
  std::atomic<Piece*> kept;
};
constinit State state{};

void keep(Piece* piece) {
  if (Piece* other = state.kept.exchange(piece, std::memory_order_acq_rel))
    munmap(other, other->bytes);
}

// Null: no memory.
Piece* take_piece(std::size_t count) {
  const std::size_t wanted = sizeof(Piece) + count * sizeof(Noted);
  Piece* piece = state.kept.exchange(nullptr, std::memory_order_acq_rel);
  if (piece != nullptr && piece->bytes >= wanted) return piece;
  if (piece != nullptr) munmap(piece, piece->bytes);
  void* memory = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  piece = static_cast<Piece*>(memory);
  piece->bytes = wanted;
  return piece;
}

// If a request is still busy inside, ob1 may start another one in its place. The old request is not
// forgotten: another thread may own it by now, and if not, isend_init or irecv_init renews its
// entry.
void follow(const Noted& before, void* now) {
  if (before.request == now) return;
  if (before.addition.cell_code == 0) return persistent_forget(now);
  persistent_remember(now, before.addition);
  watch_request(now);
}

}  // namespace

template <CountMode kMode>
void choose_add(bool multiple) {
  state.add = multiple ? add<true, kMode> : add<false, kMode>;
}

void persistent_setup(bool multiple, CountMode mode) {
  if (mode == CountMode::kShm) choose_add<CountMode::kShm>(multiple);
  if (mode == CountMode::kPmix) choose_add<CountMode::kPmix>(multiple);
  if (mode == CountMode::kRecord) choose_add<CountMode::kRecord>(multiple);
}

void add_started(Addition addition) { state.add(addition); }

void persistent_remember(void* request, const Addition& addition) {
  state.by_request.remember(request, addition);
}

void persistent_forget(void* request) { state.by_request.forget(request); }

Addition persistent_lookup(const void* request) { return state.by_request.lookup(request); }

void persistent_drop(open_mpi::Handle* request) {
  if (request != nullptr && counting.active.load(std::memory_order_relaxed))
    persistent_forget(*request);
}

namespace {

int start_noted(std::size_t count, open_mpi::Handle* requests, Start start, void* function,
                Noted* notes) {
  for (std::size_t i = 0; i < count; ++i)
    notes[i] = {requests[i], state.by_request.lookup(requests[i])};
  const InnermostCall here;
  const int rc = start(function, count, requests);
  if (rc != open_mpi::kSuccess || !here.counts()) return rc;
  for (std::size_t i = 0; i < count; ++i) {
    follow(notes[i], requests[i]);
    if (notes[i].addition.cell_code != 0) state.add(notes[i].addition);
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
