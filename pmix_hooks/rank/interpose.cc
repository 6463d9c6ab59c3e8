// SPDX-License-Identifier: Apache-2.0
// The MPI functions that this library defines in front of the MPI library. Both names of each: MPI_
// is what C programs call, PMPI_ what Fortran's wrappers and other profiling tools call. Where one
// of ours is reached from inside another (a tool in between), only the outermost acts.
//
// Arguments are passed on as they came, as pointer-sized words, so that another MPI than Open MPI,
// whose handles are integers, works unharmed.
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "mapcore/segment/layout.h"

#include "pmix_hooks/rank/attach.h"
#include "pmix_hooks/rank/own_binding.h"
#include "pmix_hooks/rank/partitioned.h"
#include "pmix_hooks/rank/persistent.h"
#include "pmix_hooks/rank/symbols.h"
#include "pmix_hooks/rank/text.h"

namespace ondeloc {
namespace {

using Word = void*;

__thread int depth __attribute__((tls_model("initial-exec")));

// The function behind ours, found once.
template <class Function>
Function behind(std::atomic<void*>& cache, const char* name) {
  void* next = cache.load(std::memory_order_acquire);
  if (next == nullptr) {
    next = next_symbol(name);
    cache.store(next, std::memory_order_release);
  }
  return reinterpret_cast<Function>(next);
}

int nothing_behind(const char* name) {
  char text[96] = "ondeloc: no MPI library found behind ";
  append_text(text, name);
  append_text(text, "\n");
  if (write(2, text, std::strlen(text)) < 0) return open_mpi::kErrOther;
  return open_mpi::kErrOther;
}

template <class... Arguments>
int pass_on(std::atomic<void*>& cache, const char* name, Arguments... arguments) {
  const auto next = behind<int (*)(Arguments...)>(cache, name);
  return next == nullptr ? nothing_behind(name) : next(arguments...);
}

template <class... Arguments>
int pass_on_unbound(std::atomic<void*>& cache, const char* name, Arguments... arguments) {
  if (depth == 0) prepare();
  const OwnBindingForbidden forbidden(depth == 0 && may_be_moved());
  ++depth;
  const int rc = pass_on(cache, name, arguments...);
  --depth;
  return rc;
}

template <class... Arguments>
int initialise(std::atomic<void*>& cache, const char* name, Arguments... arguments) {
  const int rc = pass_on_unbound(cache, name, arguments...);
  if (depth == 0 && rc == open_mpi::kSuccess) attach();
  return rc;
}

int finalise(std::atomic<void*>& cache, const char* name) {
  if (depth == 0) detach();
  ++depth;
  const int rc = pass_on(cache, name);
  --depth;
  return rc;
}

int partitioned_init(std::atomic<void*>& cache, const char* name, const void* buffer,
                     int partitions, long long count, Word type, int destination, int tag,
                     Word comm, Word info, Word* request) {
  ++depth;
  const int rc =
      pass_on(cache, name, buffer, partitions, count, type, destination, tag, comm, info, request);
  if (--depth == 0 && rc == open_mpi::kSuccess)
    partitioned_remember(request, static_cast<std::size_t>(count), type, destination, comm);
  return rc;
}

template <class... Arguments>
int partitions_ready(Word request, int partitions, std::atomic<void*>& cache, const char* name,
                     Arguments... arguments) {
  ++depth;
  const int rc = pass_on(cache, name, arguments...);
  if (--depth == 0 && rc == open_mpi::kSuccess && partitions > 0)
    partitioned_ready(request, static_cast<std::size_t>(partitions));
  return rc;
}

template <class... Arguments>
int noted(std::uint32_t bits, std::atomic<void*>& cache, const char* name, Arguments... arguments) {
  const int rc = pass_on(cache, name, arguments...);
  if (rc == open_mpi::kSuccess) add_note(bits);
  return rc;
}

}  // namespace
}  // namespace ondeloc

#define ONDELOC_EXPORT extern "C" [[gnu::visibility("default")]] int

// NOLINTBEGIN(bugprone-macro-parentheses): names and parameter lists.
#define ONDELOC_BOTH(DEFINE, ...) \
  DEFINE(MPI_##__VA_ARGS__)       \
  DEFINE(PMPI_##__VA_ARGS__)

#define ONDELOC_INIT(NAME)                               \
  ONDELOC_EXPORT NAME(int* argc, char*** argv) {         \
    static std::atomic<void*> next{nullptr};             \
    return ondeloc::initialise(next, #NAME, argc, argv); \
  }
#define ONDELOC_INIT_THREAD(NAME)                                             \
  ONDELOC_EXPORT NAME(int* argc, char*** argv, int required, int* provided) { \
    static std::atomic<void*> next{nullptr};                                  \
    return ondeloc::initialise(next, #NAME, argc, argv, required, provided);  \
  }
// Open MPI reads its settings here where a program calls it before MPI_Init.
#define ONDELOC_TOOL_INIT(NAME)                                       \
  ONDELOC_EXPORT NAME(int required, int* provided) {                  \
    static std::atomic<void*> next{nullptr};                          \
    return ondeloc::pass_on_unbound(next, #NAME, required, provided); \
  }
#define ONDELOC_FINALIZE(NAME)               \
  ONDELOC_EXPORT NAME() {                    \
    static std::atomic<void*> next{nullptr}; \
    return ondeloc::finalise(next, #NAME);   \
  }
#define ONDELOC_START(NAME)                                                                      \
  ONDELOC_EXPORT NAME(void** request) {                                                          \
    static std::atomic<void*> next{nullptr};                                                     \
    return ondeloc::persistent_start(                                                            \
        1, request, [](std::size_t, void** one) { return ondeloc::pass_on(next, #NAME, one); }); \
  }
#define ONDELOC_STARTALL(NAME)                                                          \
  ONDELOC_EXPORT NAME(int count, void** requests) {                                     \
    static std::atomic<void*> next{nullptr};                                            \
    const auto start = [](std::size_t n, void** list) {                                 \
      return ondeloc::pass_on(next, #NAME, static_cast<int>(n), list);                  \
    };                                                                                  \
    if (count < 0) return ondeloc::pass_on(next, #NAME, count, requests);               \
    return ondeloc::persistent_start(static_cast<std::size_t>(count), requests, start); \
  }
#define ONDELOC_REQUEST_FREE(NAME)                 \
  ONDELOC_EXPORT NAME(void** request) {            \
    static std::atomic<void*> next{nullptr};       \
    ondeloc::persistent_drop(request);             \
    return ondeloc::pass_on(next, #NAME, request); \
  }
#define ONDELOC_PSEND_INIT(NAME)                                                                  \
  ONDELOC_EXPORT NAME(const void* buffer, int partitions, long long count, void* type, int to,    \
                      int tag, void* comm, void* info, void** request) {                          \
    static std::atomic<void*> next{nullptr};                                                      \
    return ondeloc::partitioned_init(next, #NAME, buffer, partitions, count, type, to, tag, comm, \
                                     info, request);                                              \
  }
#define ONDELOC_PREADY(NAME)                                                       \
  ONDELOC_EXPORT NAME(int partition, void* request) {                              \
    static std::atomic<void*> next{nullptr};                                       \
    return ondeloc::partitions_ready(request, 1, next, #NAME, partition, request); \
  }
#define ONDELOC_PREADY_RANGE(NAME)                                                              \
  ONDELOC_EXPORT NAME(int low, int high, void* request) {                                       \
    static std::atomic<void*> next{nullptr};                                                    \
    return ondeloc::partitions_ready(request, high - low + 1, next, #NAME, low, high, request); \
  }
#define ONDELOC_PREADY_LIST(NAME)                                                          \
  ONDELOC_EXPORT NAME(int length, const int* list, void* request) {                        \
    static std::atomic<void*> next{nullptr};                                               \
    return ondeloc::partitions_ready(request, length, next, #NAME, length, list, request); \
  }
#define ONDELOC_WINDOW6(NAME)                                                     \
  ONDELOC_EXPORT NAME(void* a, void* b, void* c, void* d, void* e, void* f) {     \
    static std::atomic<void*> next{nullptr};                                      \
    return ondeloc::noted(ONDELOC_NOTE_ONE_SIDED, next, #NAME, a, b, c, d, e, f); \
  }
#define ONDELOC_WINDOW3(NAME)                                            \
  ONDELOC_EXPORT NAME(void* a, void* b, void* c) {                       \
    static std::atomic<void*> next{nullptr};                             \
    return ondeloc::noted(ONDELOC_NOTE_ONE_SIDED, next, #NAME, a, b, c); \
  }
#define ONDELOC_SESSION(NAME)                                           \
  ONDELOC_EXPORT NAME(void* a, void* b, void* c) {                      \
    static std::atomic<void*> next{nullptr};                            \
    ondeloc::prepare();                                                 \
    return ondeloc::noted(ONDELOC_NOTE_SESSIONS, next, #NAME, a, b, c); \
  }

ONDELOC_BOTH(ONDELOC_INIT, Init)
ONDELOC_BOTH(ONDELOC_INIT_THREAD, Init_thread)
ONDELOC_BOTH(ONDELOC_TOOL_INIT, T_init_thread)
ONDELOC_BOTH(ONDELOC_FINALIZE, Finalize)
ONDELOC_BOTH(ONDELOC_START, Start)
ONDELOC_BOTH(ONDELOC_STARTALL, Startall)
ONDELOC_BOTH(ONDELOC_REQUEST_FREE, Request_free)
ONDELOC_BOTH(ONDELOC_PSEND_INIT, Psend_init)
ONDELOC_BOTH(ONDELOC_PREADY, Pready)
ONDELOC_BOTH(ONDELOC_PREADY_RANGE, Pready_range)
ONDELOC_BOTH(ONDELOC_PREADY_LIST, Pready_list)
ONDELOC_BOTH(ONDELOC_WINDOW6, Win_create)
ONDELOC_BOTH(ONDELOC_WINDOW6, Win_allocate)
ONDELOC_BOTH(ONDELOC_WINDOW6, Win_allocate_shared)
ONDELOC_BOTH(ONDELOC_WINDOW3, Win_create_dynamic)
ONDELOC_BOTH(ONDELOC_SESSION, Session_init)
// NOLINTEND(bugprone-macro-parentheses)
