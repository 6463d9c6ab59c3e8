// SPDX-License-Identifier: Apache-2.0
// The MPI functions that this library defines in front of the MPI library. Both names of each: MPI_
// is what C programs call, PMPI_ what Fortran's wrappers and other profiling tools call. Where one
// of ours is reached from inside another (a tool in between), only one of them acts.
//
// Arguments are passed on as they came, as pointer-sized words, so that another MPI than Open MPI,
// whose handles are integers, works unharmed.
#include <unistd.h>

#include <atomic>
#include <bit>
#include <cstring>

#include "mapcore/segment/layout.h"

#include "pmix_hooks/rank/attach.h"
#include "pmix_hooks/rank/innermost.h"
#include "pmix_hooks/rank/own_binding.h"
#include "pmix_hooks/rank/partitioned.h"
#include "pmix_hooks/rank/persistent.h"
#include "pmix_hooks/rank/pointer_map.h"
#include "pmix_hooks/rank/symbols.h"
#include "pmix_hooks/rank/text.h"

namespace ondeloc {
namespace {

using Word = void*;

__thread int depth __attribute__((tls_model("initial-exec")));

// What calls of one function reach: all the same, where there is such a thing, else by the place
// they come from.
struct Reached {
  std::atomic<void*> next;
  PointerMap callers;  // the function and whether it is foreign
};

Behind known_behind(const Reached& reached, const void* caller) {
  const MapEntry* entry = reached.callers.find(caller);
  if (entry == nullptr) return {nullptr, false};
  return {std::bit_cast<void*>(entry->first.load(std::memory_order_acquire)),
          entry->second.load(std::memory_order_relaxed) != 0};
}

void remember_behind(Reached& reached, const void* caller, const Behind& behind) {
  MapEntry* entry = reached.callers.find_or_insert(caller);
  if (entry == nullptr) return;
  entry->second.store(behind.foreign ? 1 : 0, std::memory_order_relaxed);
  entry->first.store(std::bit_cast<std::uint64_t>(behind.function), std::memory_order_release);
}

Behind find_behind(Reached& reached, const char* name, const void* caller) {
  void* function = reached.next.load(std::memory_order_acquire);
  if (function != nullptr) return {function, false};
  if (const Behind known = known_behind(reached, caller); known.function != nullptr) return known;
  function = next_symbol(name);
  if (function != nullptr) {
    reached.next.store(function, std::memory_order_release);
    return {function, false};
  }
  const Behind behind = local_symbol(name, caller);
  if (behind.function != nullptr) remember_behind(reached, caller, behind);
  return behind;
}

int nothing_behind(const char* name) {
  char text[96] = "ondeloc: no MPI library found behind ";
  append_text(text, name);
  append_text(text, "\n");
  if (write(2, text, std::strlen(text)) < 0) return open_mpi::kErrOther;
  return open_mpi::kErrOther;
}

template <class... Arguments>
int pass_on(const Behind& behind, const char* name, Arguments... arguments) {
  const auto next = reinterpret_cast<int (*)(Arguments...)>(behind.function);
  return next == nullptr ? nothing_behind(name) : next(arguments...);
}

template <class... Arguments>
int pass_on_unbound(const Behind& behind, const char* name, Arguments... arguments) {
  if (depth == 0) prepare();
  const OwnBindingForbidden forbidden(depth == 0 && may_be_moved());
  ++depth;
  const int rc = pass_on(behind, name, arguments...);
  --depth;
  return rc;
}

template <class... Arguments>
int initialise(const Behind& behind, const char* name, Arguments... arguments) {
  const int rc = pass_on_unbound(behind, name, arguments...);
  if (depth == 0 && rc == open_mpi::kSuccess) attach();
  return rc;
}

int finalise(const Behind& behind, const char* name) {
  detach();
  return pass_on(behind, name);
}

int partitioned_init(const Behind& behind, const char* name, const void* buffer, int partitions,
                     long long count, Word type, int destination, int tag, Word comm, Word info,
                     Word* request) {
  const int rc =
      pass_on(behind, name, buffer, partitions, count, type, destination, tag, comm, info, request);
  if (rc == open_mpi::kSuccess)
    partitioned_remember(request, static_cast<std::size_t>(count), type, destination, comm);
  return rc;
}

template <class... Arguments>
int partitions_ready(Word request, int partitions, const Behind& behind, const char* name,
                     Arguments... arguments) {
  const Innermost here;
  const int rc = pass_on(behind, name, arguments...);
  if (rc == open_mpi::kSuccess && partitions > 0 && here.counts())
    partitioned_ready(request, static_cast<std::size_t>(partitions));
  return rc;
}

int start_one(void* function, std::size_t, void** request) {
  return pass_on({function, false}, "MPI_Start", request);
}

int start_all(void* function, std::size_t count, void** requests) {
  return pass_on({function, false}, "MPI_Startall", static_cast<int>(count), requests);
}

template <class... Arguments>
int noted(std::uint32_t bits, const Behind& behind, const char* name, Arguments... arguments) {
  const int rc = pass_on(behind, name, arguments...);
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

// What a call of NAME is to reach, as `behind`; that of a foreign MPI is reached with the arguments
// that follow, and nothing else is done. The address to return to tells who called, in the function
// that was called alone.
#define ONDELOC_BEHIND(NAME, ...)                                        \
  static constinit ondeloc::Reached reached{};                           \
  const ondeloc::Behind behind =                                         \
      ondeloc::find_behind(reached, #NAME, __builtin_return_address(0)); \
  if (behind.foreign) return ondeloc::pass_on(behind, #NAME __VA_OPT__(, ) __VA_ARGS__);

#define ONDELOC_INIT(NAME)                                 \
  ONDELOC_EXPORT NAME(int* argc, char*** argv) {           \
    ONDELOC_BEHIND(NAME, argc, argv)                       \
    return ondeloc::initialise(behind, #NAME, argc, argv); \
  }
#define ONDELOC_INIT_THREAD(NAME)                                              \
  ONDELOC_EXPORT NAME(int* argc, char*** argv, int required, int* provided) {  \
    ONDELOC_BEHIND(NAME, argc, argv, required, provided)                       \
    return ondeloc::initialise(behind, #NAME, argc, argv, required, provided); \
  }
// What Open MPI's MPI_Init and shmem_init call: who has asked the library itself for its MPI_Init
// (dlsym on a handle: Julia's MPI.jl, ctypes) or makes OpenSHMEM and MPI at once comes this way
// only.
#define ONDELOC_OMPI_INIT(NAME)                                                         \
  ONDELOC_EXPORT NAME(int argc, char** argv, int required, int* provided, bool again) { \
    ONDELOC_BEHIND(NAME, argc, argv, required, provided, again)                         \
    return ondeloc::initialise(behind, #NAME, argc, argv, required, provided, again);   \
  }
// Open MPI reads its settings here where a program calls it before MPI_Init.
#define ONDELOC_TOOL_INIT(NAME)                                         \
  ONDELOC_EXPORT NAME(int required, int* provided) {                    \
    ONDELOC_BEHIND(NAME, required, provided)                            \
    return ondeloc::pass_on_unbound(behind, #NAME, required, provided); \
  }
#define ONDELOC_FINALIZE(NAME)               \
  ONDELOC_EXPORT NAME() {                    \
    ONDELOC_BEHIND(NAME)                     \
    return ondeloc::finalise(behind, #NAME); \
  }
#define ONDELOC_START(NAME)                                                            \
  ONDELOC_EXPORT NAME(void** request) {                                                \
    ONDELOC_BEHIND(NAME, request)                                                      \
    return ondeloc::persistent_start(1, request, ondeloc::start_one, behind.function); \
  }
#define ONDELOC_STARTALL(NAME)                                                  \
  ONDELOC_EXPORT NAME(int count, void** requests) {                             \
    ONDELOC_BEHIND(NAME, count, requests)                                       \
    if (count < 0) return ondeloc::pass_on(behind, #NAME, count, requests);     \
    return ondeloc::persistent_start(static_cast<std::size_t>(count), requests, \
                                     ondeloc::start_all, behind.function);      \
  }
#define ONDELOC_REQUEST_FREE(NAME)                   \
  ONDELOC_EXPORT NAME(void** request) {              \
    ONDELOC_BEHIND(NAME, request)                    \
    ondeloc::persistent_drop(request);               \
    return ondeloc::pass_on(behind, #NAME, request); \
  }
#define ONDELOC_PSEND_INIT(NAME)                                                               \
  ONDELOC_EXPORT NAME(const void* buffer, int partitions, long long count, void* type, int to, \
                      int tag, void* comm, void* info, void** request) {                       \
    ONDELOC_BEHIND(NAME, buffer, partitions, count, type, to, tag, comm, info, request)        \
    return ondeloc::partitioned_init(behind, #NAME, buffer, partitions, count, type, to, tag,  \
                                     comm, info, request);                                     \
  }
#define ONDELOC_PREADY(NAME)                                                         \
  ONDELOC_EXPORT NAME(int partition, void* request) {                                \
    ONDELOC_BEHIND(NAME, partition, request)                                         \
    return ondeloc::partitions_ready(request, 1, behind, #NAME, partition, request); \
  }
#define ONDELOC_PREADY_RANGE(NAME)                                                                \
  ONDELOC_EXPORT NAME(int low, int high, void* request) {                                         \
    ONDELOC_BEHIND(NAME, low, high, request)                                                      \
    return ondeloc::partitions_ready(request, high - low + 1, behind, #NAME, low, high, request); \
  }
#define ONDELOC_PREADY_LIST(NAME)                                                            \
  ONDELOC_EXPORT NAME(int length, const int* list, void* request) {                          \
    ONDELOC_BEHIND(NAME, length, list, request)                                              \
    return ondeloc::partitions_ready(request, length, behind, #NAME, length, list, request); \
  }
#define ONDELOC_WINDOW6(NAME)                                                       \
  ONDELOC_EXPORT NAME(void* a, void* b, void* c, void* d, void* e, void* f) {       \
    ONDELOC_BEHIND(NAME, a, b, c, d, e, f)                                          \
    return ondeloc::noted(ONDELOC_NOTE_ONE_SIDED, behind, #NAME, a, b, c, d, e, f); \
  }
#define ONDELOC_WINDOW3(NAME)                                              \
  ONDELOC_EXPORT NAME(void* a, void* b, void* c) {                         \
    ONDELOC_BEHIND(NAME, a, b, c)                                          \
    return ondeloc::noted(ONDELOC_NOTE_ONE_SIDED, behind, #NAME, a, b, c); \
  }
#define ONDELOC_SESSION(NAME)                                             \
  ONDELOC_EXPORT NAME(void* a, void* b, void* c) {                        \
    ONDELOC_BEHIND(NAME, a, b, c)                                         \
    ondeloc::prepare();                                                   \
    return ondeloc::noted(ONDELOC_NOTE_SESSIONS, behind, #NAME, a, b, c); \
  }

ONDELOC_BOTH(ONDELOC_INIT, Init)
ONDELOC_BOTH(ONDELOC_INIT_THREAD, Init_thread)
ONDELOC_BOTH(ONDELOC_TOOL_INIT, T_init_thread)
ONDELOC_BOTH(ONDELOC_FINALIZE, Finalize)
ONDELOC_OMPI_INIT(ompi_mpi_init)
ONDELOC_FINALIZE(ompi_mpi_finalize)
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
ONDELOC_BOTH(ONDELOC_WINDOW6, Win_create_c)
ONDELOC_BOTH(ONDELOC_WINDOW6, Win_allocate_c)
ONDELOC_BOTH(ONDELOC_WINDOW6, Win_allocate_shared_c)
ONDELOC_BOTH(ONDELOC_WINDOW3, Win_create_dynamic)
ONDELOC_BOTH(ONDELOC_SESSION, Session_init)
// NOLINTEND(bugprone-macro-parentheses)
