// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/pml_hooks.h"

#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/persistent.h"
#include "pmix_hooks/rank/request_start.h"

namespace ondeloc {
namespace {

using open_mpi::Handle;

constexpr int kHooks = 6;

struct State {
  PmlTable table;
  void* hooks[kHooks];
  // The entries that stood in the table before; those of every message are in `counting`.
  open_mpi::PmlIsend isend_init;
  open_mpi::PmlIrecvInit irecv_init;
  open_mpi::PmlStart start;
  open_mpi::PmlDelComm del_comm;
};
constinit State state{};

// Counting comes after the call: what failed is not counted. The addition is found before it: as
// soon as the message has arrived, another thread may free the communicator and the datatype.
template <bool kMultiple, CountMode kMode>
[[gnu::noinline]] int hook_send(const void* buffer, std::size_t count, Handle type, int destination,
                                int tag, int mode, Handle comm) {
  const Addition addition = addition_of(count, type, destination, comm);
  const int rc = counting.send(buffer, count, type, destination, tag, mode, comm);
  if (__builtin_expect(rc == open_mpi::kSuccess, 1)) add<kMultiple, kMode>(addition);
  return rc;
}

template <bool kMultiple, CountMode kMode>
[[gnu::noinline]] int hook_isend(const void* buffer, std::size_t count, Handle type,
                                 int destination, int tag, int mode, Handle comm, Handle* request) {
  const Addition addition = addition_of(count, type, destination, comm);
  const int rc = counting.isend(buffer, count, type, destination, tag, mode, comm, request);
  if (__builtin_expect(rc == open_mpi::kSuccess, 1)) add<kMultiple, kMode>(addition);
  return rc;
}

// The usual message, to a known peer and of a predefined type, by one thread. Its addition is found
// before the call, so that no argument has to be kept over the call.
int quick_send(const void* buffer, std::size_t count, Handle type, int destination, int tag,
               int mode, Handle comm) {
  const KnownAddition known = known_addition(count, type, destination, comm);
  if (__builtin_expect(known.cell == nullptr, 0))
    return hook_send<false, CountMode::kShm>(buffer, count, type, destination, tag, mode, comm);
  const int rc = counting.send(buffer, count, type, destination, tag, mode, comm);
  if (__builtin_expect(rc == open_mpi::kSuccess, 1)) add_known(known);
  return rc;
}

int quick_isend(const void* buffer, std::size_t count, Handle type, int destination, int tag,
                int mode, Handle comm, Handle* request) {
  const KnownAddition known = known_addition(count, type, destination, comm);
  if (__builtin_expect(known.cell == nullptr, 0))
    return hook_isend<false, CountMode::kShm>(buffer, count, type, destination, tag, mode, comm,
                                              request);
  const int rc = counting.isend(buffer, count, type, destination, tag, mode, comm, request);
  if (__builtin_expect(rc == open_mpi::kSuccess, 1)) add_known(known);
  return rc;
}

Addition addition_of_starts(std::size_t count, Handle type, int destination, Handle comm) {
  if (!counting.plain) return addition_of(count, type, destination, comm);
  const KnownAddition known = known_addition(count, type, destination, comm);
  if (known.cell == nullptr) return addition_of(count, type, destination, comm);
  return {code_of(known.cell), known.bytes};
}

int hook_isend_init(const void* buffer, std::size_t count, Handle type, int destination, int tag,
                    int mode, Handle comm, Handle* request) {
  const int rc = state.isend_init(buffer, count, type, destination, tag, mode, comm, request);
  if (rc != open_mpi::kSuccess) return rc;
  persistent_remember(*request, addition_of_starts(count, type, destination, comm));
  watch_new_request(*request, __builtin_return_address(0));
  return rc;
}

// A request object that was a send may come back as a receive.
int hook_irecv_init(void* buffer, std::size_t count, Handle type, int source, int tag, Handle comm,
                    Handle* request) {
  const int rc = state.irecv_init(buffer, count, type, source, tag, comm, request);
  if (rc == open_mpi::kSuccess) persistent_forget(*request);
  return rc;
}

// Reached by the library's own algorithms (linear alltoall) through the table, and by a program's
// MPI_Start through the request (request_start.h).
int hook_start(std::size_t count, Handle* requests) {
  return persistent_start(
      count, requests, [](void*, std::size_t n, Handle* list) { return state.start(n, list); },
      nullptr);
}

int hook_del_comm(Handle comm) {
  forget_comm(comm);
  return state.del_comm(comm);
}

int cell_code_of(int k) {
  const int places[kHooks] = {state.table.at.send,       state.table.at.isend,
                              state.table.at.isend_init, state.table.at.start,
                              state.table.at.irecv_init, state.table.at.del_comm};
  return places[k];
}

template <class Function>
void keep_real(Function& function, int index) {
  function = reinterpret_cast<Function>(state.table.entries[index]);
}

template <bool kMultiple, CountMode kMode>
void choose() {
  constexpr bool kQuick = !kMultiple && kMode == CountMode::kShm;
  state.hooks[0] = reinterpret_cast<void*>(kQuick ? quick_send : hook_send<kMultiple, kMode>);
  state.hooks[1] = reinterpret_cast<void*>(kQuick ? quick_isend : hook_isend<kMultiple, kMode>);
}

}  // namespace

void install_hooks(const PmlTable& found, bool multiple, CountMode mode) {
  state.table = found;
  keep_real(counting.send, state.table.at.send);
  keep_real(counting.isend, state.table.at.isend);
  keep_real(state.isend_init, state.table.at.isend_init);
  keep_real(state.start, state.table.at.start);
  keep_real(state.irecv_init, state.table.at.irecv_init);
  keep_real(state.del_comm, state.table.at.del_comm);
  if (mode == CountMode::kShm)
    multiple ? choose<true, CountMode::kShm>() : choose<false, CountMode::kShm>();
  if (mode == CountMode::kPmix)
    multiple ? choose<true, CountMode::kPmix>() : choose<false, CountMode::kPmix>();
  if (mode == CountMode::kRecord)
    multiple ? choose<true, CountMode::kRecord>() : choose<false, CountMode::kRecord>();
  request_start_setup(state.start, hook_start);
  state.hooks[2] = reinterpret_cast<void*>(hook_isend_init);
  state.hooks[3] = reinterpret_cast<void*>(hook_start);
  state.hooks[4] = reinterpret_cast<void*>(hook_irecv_init);
  state.hooks[5] = reinterpret_cast<void*>(hook_del_comm);
  for (int k = 0; k < kHooks; ++k)
    __atomic_store_n(&state.table.entries[cell_code_of(k)], state.hooks[k], __ATOMIC_RELEASE);
}

void remove_hooks() {
  void* const before[kHooks] = {
      reinterpret_cast<void*>(counting.send),    reinterpret_cast<void*>(counting.isend),
      reinterpret_cast<void*>(state.isend_init), reinterpret_cast<void*>(state.start),
      reinterpret_cast<void*>(state.irecv_init), reinterpret_cast<void*>(state.del_comm)};
  for (int k = 0; k < kHooks; ++k) {
    void* expected = state.hooks[k];
    __atomic_compare_exchange_n(&state.table.entries[cell_code_of(k)], &expected, before[k], false,
                                __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  }
}

}  // namespace ondeloc
