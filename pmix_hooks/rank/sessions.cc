// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/sessions.h"

#include <atomic>

#include "mapcore/segment/layout.h"

#include "pmix_hooks/open_mpi_facts.h"
#include "pmix_hooks/rank/attach.h"
#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/mpi_calls.h"
#include "pmix_hooks/rank/mpich_handles.h"
#include "pmix_hooks/rank/notes.h"
#include "pmix_hooks/rank/symbols.h"

namespace ondeloc {
namespace {

constexpr int kKept = 16;  // of more sessions at once, only the number is known

struct State {
  std::atomic<int> open;
  std::atomic<void*> handles[kKept];  // null: free
};
constinit State state{};

// The family of the library is chosen later, at attach.
void* handle_at(const void* session) {
  const bool is_pointer = mpi_object(open_mpi::kCommWorld) != nullptr || has_standard_abi();
  return is_pointer ? *static_cast<void* const*>(session)
                    : mpich::word_of(*static_cast<const mpich::Handle*>(session));
}

void replace(void* from, void* to) {
  for (std::atomic<void*>& handle : state.handles) {
    void* expected = from;
    if (handle.compare_exchange_strong(expected, to)) return;
  }
}

}  // namespace

void session_opened(const void* session) {
  add_note(ONDELOC_NOTE_SESSIONS);
  state.open.fetch_add(1);
  replace(nullptr, handle_at(session));
}

void session_closing(const void* session) {
  if (session == nullptr) return;
  replace(handle_at(session), nullptr);
  if (state.open.fetch_sub(1) == 1 && attached_by_session()) detach();
}

void session_made_communicator() {
  expect_several_threads();
  for (std::atomic<void*>& handle : state.handles)
    if (void* session = handle.load()) return attach(session);
}

}  // namespace ondeloc
