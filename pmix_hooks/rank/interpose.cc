// SPDX-License-Identifier: Apache-2.0
// The MPI functions that this library defines in front of the MPI library, each under both names: C
// programs call the MPI_ name, Fortran's wrappers and other profiling tools call the PMPI_ name. If
// one of these functions reaches another (a tool is in between), only one of them acts.
//
// Arguments are passed on as they came, as pointer-sized words, so that another MPI than Open MPI,
// whose handles are integers, works unharmed.
#include "mapcore/segment/layout.h"

#include "pmix_hooks/rank/attach.h"
#include "pmix_hooks/rank/innermost_call.h"
#include "pmix_hooks/rank/mpi_family.h"
#include "pmix_hooks/rank/mpich_counting.h"
#include "pmix_hooks/rank/mpich_requests.h"
#include "pmix_hooks/rank/mpich_shapes.h"
#include "pmix_hooks/rank/next_function.h"
#include "pmix_hooks/rank/one_sided.h"
#include "pmix_hooks/rank/own_binding.h"
#include "pmix_hooks/rank/partitioned.h"
#include "pmix_hooks/rank/persistent.h"
#include "pmix_hooks/rank/sessions.h"

namespace ondeloc {
namespace {

__thread int depth __attribute__((tls_model("initial-exec")));

template <class... Arguments>
int pass_on_unbound(const NextFunction& next, const char* name, Arguments... arguments) {
  if (depth == 0) prepare();
  const OwnBindingForbidden forbidden(depth == 0 && may_be_moved());
  ++depth;
  const int rc = pass_on(next, name, arguments...);
  --depth;
  return rc;
}

template <class... Arguments>
int initialise(const NextFunction& next, const char* name, Arguments... arguments) {
  const int rc = pass_on_unbound(next, name, arguments...);
  if (depth == 0 && rc == open_mpi::kSuccess) attach(nullptr);
  return rc;
}

int finalise(const NextFunction& next, const char* name) {
  detach();
  return pass_on(next, name);
}

bool is_mpich() { return mpi_family() == MpiFamily::kMpich; }

int partitioned_init(const NextFunction& next, const char* name, const void* buffer, int partitions,
                     long long count, Word type, int destination, int tag, Word comm, Word info,
                     Word* request) {
  const int rc =
      pass_on(next, name, buffer, partitions, count, type, destination, tag, comm, info, request);
  if (rc != open_mpi::kSuccess || !counting.active.load(std::memory_order_relaxed)) return rc;
  const auto elements = static_cast<std::size_t>(count);
  if (is_mpich())
    partitioned_remember(mpich_handle_at(request),
                         mpich_addition(elements, type, destination, comm));
  else
    partitioned_remember(*request, addition_of(elements, type, destination, comm));
  return rc;
}

template <class... Arguments>
int partitions_ready(Word request, int partitions, const NextFunction& next, const char* name,
                     Arguments... arguments) {
  const InnermostCall here;
  const int rc = pass_on(next, name, arguments...);
  if (rc == open_mpi::kSuccess && partitions > 0 && here.counts())
    partitioned_ready(is_mpich() ? mpich_word(request) : request,
                      static_cast<std::size_t>(partitions));
  return rc;
}

int start_one(void* function, std::size_t, void** request) {
  return pass_on({function, false}, "MPI_Start", request);
}

int start_all(void* function, std::size_t count, void** requests) {
  return pass_on({function, false}, "MPI_Startall", static_cast<int>(count), requests);
}

int start(std::size_t count, void** requests, Start how, void* function) {
  return (is_mpich() ? mpich_start : persistent_start)(count, requests, how, function);
}

void drop(void** request) { is_mpich() ? mpich_forget(request) : persistent_drop(request); }

// The handle of the new window lies at the address that is the last argument.
template <class... Arguments>
int opened(WindowMemory memory, Word* window, const NextFunction& next, const char* name,
           Arguments... arguments) {
  const int rc = pass_on(next, name, arguments..., window);
  if (rc == open_mpi::kSuccess && window != nullptr) window_opened(window, memory);
  return rc;
}

int open_session(const NextFunction& next, const char* name, Word info, Word handler,
                 void* session) {
  const int rc = pass_on_unbound(next, name, info, handler, session);
  if (depth == 0 && rc == open_mpi::kSuccess) session_opened(session);
  return rc;
}

int close_session(const NextFunction& next, const char* name, void* session) {
  if (depth == 0) session_closing(session);
  ++depth;
  const int rc = pass_on(next, name, session);
  --depth;
  return rc;
}

// The handle of the new communicator lies at the address that is the last argument.
template <class... Arguments>
int made_by_session(Word comm, const NextFunction& next, const char* name, Arguments... arguments) {
  const int rc = pass_on(next, name, arguments..., comm);
  if (rc != open_mpi::kSuccess) return rc;
  if (is_mpich() && counting.active.load(std::memory_order_relaxed)) mpich_forget_comm(comm);
  session_made_communicator();
  return rc;
}

}  // namespace
}  // namespace ondeloc

#define ONDELOC_EXPORT extern "C" [[gnu::visibility("default")]] int

// NOLINTBEGIN(bugprone-macro-parentheses): names and parameter lists.
#define ONDELOC_BOTH(DEFINE, ...) \
  DEFINE(MPI_##__VA_ARGS__)       \
  DEFINE(PMPI_##__VA_ARGS__)

// Defines `next`, the function that a call of NAME is to reach. A call of a foreign MPI is passed
// on with the arguments that follow, and nothing else is done. The return address tells who called;
// only the called function itself can read it.
#define ONDELOC_NEXT(NAME, ...)                                        \
  static constinit ondeloc::Reached reached{};                         \
  const ondeloc::NextFunction next =                                   \
      ondeloc::find_next(reached, #NAME, __builtin_return_address(0)); \
  if (next.foreign) return ondeloc::pass_on(next, #NAME __VA_OPT__(, ) __VA_ARGS__);

#define ONDELOC_INIT(NAME)                               \
  ONDELOC_EXPORT NAME(int* argc, char*** argv) {         \
    ONDELOC_NEXT(NAME, argc, argv)                       \
    return ondeloc::initialise(next, #NAME, argc, argv); \
  }
#define ONDELOC_INIT_THREAD(NAME)                                             \
  ONDELOC_EXPORT NAME(int* argc, char*** argv, int required, int* provided) { \
    ONDELOC_NEXT(NAME, argc, argv, required, provided)                        \
    return ondeloc::initialise(next, #NAME, argc, argv, required, provided);  \
  }
// Open MPI's MPI_Init and shmem_init call this function. A program that asks the library itself for
// MPI_Init (dlsym on a handle: Julia's MPI.jl, ctypes) or that starts OpenSHMEM and MPI at once
// reaches this name only.
#define ONDELOC_OMPI_INIT(NAME)                                                         \
  ONDELOC_EXPORT NAME(int argc, char** argv, int required, int* provided, bool again) { \
    ONDELOC_NEXT(NAME, argc, argv, required, provided, again)                           \
    return ondeloc::initialise(next, #NAME, argc, argv, required, provided, again);     \
  }
// If a program calls this before MPI_Init, Open MPI reads its settings here.
#define ONDELOC_TOOL_INIT(NAME)                                       \
  ONDELOC_EXPORT NAME(int required, int* provided) {                  \
    ONDELOC_NEXT(NAME, required, provided)                            \
    return ondeloc::pass_on_unbound(next, #NAME, required, provided); \
  }
#define ONDELOC_FINALIZE(NAME)             \
  ONDELOC_EXPORT NAME() {                  \
    ONDELOC_NEXT(NAME)                     \
    return ondeloc::finalise(next, #NAME); \
  }
#define ONDELOC_START(NAME)                                               \
  ONDELOC_EXPORT NAME(void** request) {                                   \
    ONDELOC_NEXT(NAME, request)                                           \
    return ondeloc::start(1, request, ondeloc::start_one, next.function); \
  }
#define ONDELOC_STARTALL(NAME)                                                           \
  ONDELOC_EXPORT NAME(int count, void** requests) {                                      \
    ONDELOC_NEXT(NAME, count, requests)                                                  \
    if (count < 0) return ondeloc::pass_on(next, #NAME, count, requests);                \
    return ondeloc::start(static_cast<std::size_t>(count), requests, ondeloc::start_all, \
                          next.function);                                                \
  }
#define ONDELOC_REQUEST_FREE(NAME)                 \
  ONDELOC_EXPORT NAME(void** request) {            \
    ONDELOC_NEXT(NAME, request)                    \
    ondeloc::drop(request);                        \
    return ondeloc::pass_on(next, #NAME, request); \
  }
#define ONDELOC_PSEND_INIT(NAME)                                                                  \
  ONDELOC_EXPORT NAME(const void* buffer, int partitions, long long count, void* type, int to,    \
                      int tag, void* comm, void* info, void** request) {                          \
    ONDELOC_NEXT(NAME, buffer, partitions, count, type, to, tag, comm, info, request)             \
    return ondeloc::partitioned_init(next, #NAME, buffer, partitions, count, type, to, tag, comm, \
                                     info, request);                                              \
  }
#define ONDELOC_PREADY(NAME)                                                       \
  ONDELOC_EXPORT NAME(int partition, void* request) {                              \
    ONDELOC_NEXT(NAME, partition, request)                                         \
    return ondeloc::partitions_ready(request, 1, next, #NAME, partition, request); \
  }
#define ONDELOC_PREADY_RANGE(NAME)                                                              \
  ONDELOC_EXPORT NAME(int low, int high, void* request) {                                       \
    ONDELOC_NEXT(NAME, low, high, request)                                                      \
    return ondeloc::partitions_ready(request, high - low + 1, next, #NAME, low, high, request); \
  }
#define ONDELOC_PREADY_LIST(NAME)                                                          \
  ONDELOC_EXPORT NAME(int length, const int* list, void* request) {                        \
    ONDELOC_NEXT(NAME, length, list, request)                                              \
    return ondeloc::partitions_ready(request, length, next, #NAME, length, list, request); \
  }
#define ONDELOC_WINDOW_OF(NAME, MEMORY)                                                        \
  ONDELOC_EXPORT NAME(void* a, void* b, void* c, void* d, void* e, void** window) {            \
    ONDELOC_NEXT(NAME, a, b, c, d, e, window)                                                  \
    return ondeloc::opened(ondeloc::WindowMemory::MEMORY, window, next, #NAME, a, b, c, d, e); \
  }
#define ONDELOC_WINDOW(NAME) ONDELOC_WINDOW_OF(NAME, kPrivate)
#define ONDELOC_SHARED_WINDOW(NAME) ONDELOC_WINDOW_OF(NAME, kShared)
#define ONDELOC_DYNAMIC_WINDOW(NAME)                                                          \
  ONDELOC_EXPORT NAME(void* info, void* comm, void** window) {                                \
    ONDELOC_NEXT(NAME, info, comm, window)                                                    \
    return ondeloc::opened(ondeloc::WindowMemory::kPrivate, window, next, #NAME, info, comm); \
  }
#define ONDELOC_SESSION(NAME)                                          \
  ONDELOC_EXPORT NAME(void* info, void* handler, void* session) {      \
    ONDELOC_NEXT(NAME, info, handler, session)                         \
    return ondeloc::open_session(next, #NAME, info, handler, session); \
  }
#define ONDELOC_END_OF_SESSION(NAME)                     \
  ONDELOC_EXPORT NAME(void* session) {                   \
    ONDELOC_NEXT(NAME, session)                          \
    return ondeloc::close_session(next, #NAME, session); \
  }
#define ONDELOC_COMM_OF_SESSION(NAME)                                   \
  ONDELOC_EXPORT NAME(void* a, void* b, void* c, void* d, void* comm) { \
    ONDELOC_NEXT(NAME, a, b, c, d, comm)                                \
    return ondeloc::made_by_session(comm, next, #NAME, a, b, c, d);     \
  }
#define ONDELOC_INTERCOMM_OF_SESSION(NAME)                                                         \
  ONDELOC_EXPORT NAME(void* a, void* b, void* c, void* d, void* e, void* f, void* g, void* comm) { \
    ONDELOC_NEXT(NAME, a, b, c, d, e, f, g, comm)                                                  \
    return ondeloc::made_by_session(comm, next, #NAME, a, b, c, d, e, f, g);                       \
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
ONDELOC_BOTH(ONDELOC_WINDOW, Win_create)
ONDELOC_BOTH(ONDELOC_WINDOW, Win_allocate)
ONDELOC_BOTH(ONDELOC_SHARED_WINDOW, Win_allocate_shared)
ONDELOC_BOTH(ONDELOC_WINDOW, Win_create_c)
ONDELOC_BOTH(ONDELOC_WINDOW, Win_allocate_c)
ONDELOC_BOTH(ONDELOC_SHARED_WINDOW, Win_allocate_shared_c)
ONDELOC_BOTH(ONDELOC_DYNAMIC_WINDOW, Win_create_dynamic)
ONDELOC_BOTH(ONDELOC_SESSION, Session_init)
ONDELOC_BOTH(ONDELOC_END_OF_SESSION, Session_finalize)
ONDELOC_BOTH(ONDELOC_COMM_OF_SESSION, Comm_create_from_group)
ONDELOC_BOTH(ONDELOC_INTERCOMM_OF_SESSION, Intercomm_create_from_groups)
// NOLINTEND(bugprone-macro-parentheses)
