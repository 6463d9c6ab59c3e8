// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/pml_hooks.h"

#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/persistent.h"

namespace ondeloc {
namespace {

using open_mpi::Handle;

struct Real {
  open_mpi::PmlIsend isend_init;
  open_mpi::PmlIrecvInit irecv_init;
  open_mpi::PmlStart start;
  open_mpi::PmlDelComm del_comm;
};
Real real;

// Counting comes after the call: what failed is not counted.
template <bool kMultiple, Way kWay>
int hook_send(const void* buffer, std::size_t count, Handle type, int destination, int tag,
              int mode, Handle comm) {
  const int rc = counting.send(buffer, count, type, destination, tag, mode, comm);
  if (__builtin_expect(rc == open_mpi::kSuccess, 1))
    add<kMultiple, kWay>(addition_of(count, type, destination, comm));
  return rc;
}

template <bool kMultiple, Way kWay>
int hook_isend(const void* buffer, std::size_t count, Handle type, int destination, int tag,
               int mode, Handle comm, Handle* request) {
  const int rc = counting.isend(buffer, count, type, destination, tag, mode, comm, request);
  if (__builtin_expect(rc == open_mpi::kSuccess, 1))
    add<kMultiple, kWay>(addition_of(count, type, destination, comm));
  return rc;
}

int hook_isend_init(const void* buffer, std::size_t count, Handle type, int destination, int tag,
                    int mode, Handle comm, Handle* request) {
  const int rc = real.isend_init(buffer, count, type, destination, tag, mode, comm, request);
  if (rc == open_mpi::kSuccess)
    persistent_remember(*request, addition_of(count, type, destination, comm));
  return rc;
}

// A request object that was a send may come back as a receive.
int hook_irecv_init(void* buffer, std::size_t count, Handle type, int source, int tag, Handle comm,
                    Handle* request) {
  const int rc = real.irecv_init(buffer, count, type, source, tag, comm, request);
  if (rc == open_mpi::kSuccess) persistent_forget(*request);
  return rc;
}

// Reached by the library's own algorithms (linear alltoall). MPI_Start of a user does not come
// this way in the releases we know; if it ever does, it is counted here alone.
int hook_start(std::size_t count, Handle* requests) {
  return persistent_start(
      count, requests, [](void*, std::size_t n, Handle* list) { return real.start(n, list); },
      nullptr);
}

int hook_del_comm(Handle comm) {
  peers_forget(comm);
  if (counting.last.load(std::memory_order_relaxed)->comm.load(std::memory_order_relaxed) ==
      nullptr)
    counting.last.store(&no_peers, std::memory_order_relaxed);
  return real.del_comm(comm);
}

PmlTable table;
void* ours[6];

int place_of(int k) {
  const int places[6] = {table.at.send,  table.at.isend,      table.at.isend_init,
                         table.at.start, table.at.irecv_init, table.at.del_comm};
  return places[k];
}

template <class Function>
void keep_real(Function& function, int index) {
  function = reinterpret_cast<Function>(table.entries[index]);
}

template <bool kMultiple, Way kWay>
void choose() {
  ours[0] = reinterpret_cast<void*>(hook_send<kMultiple, kWay>);
  ours[1] = reinterpret_cast<void*>(hook_isend<kMultiple, kWay>);
}

}  // namespace

void install_hooks(const PmlTable& found, bool multiple, Way way) {
  table = found;
  keep_real(counting.send, table.at.send);
  keep_real(counting.isend, table.at.isend);
  keep_real(real.isend_init, table.at.isend_init);
  keep_real(real.start, table.at.start);
  keep_real(real.irecv_init, table.at.irecv_init);
  keep_real(real.del_comm, table.at.del_comm);
  if (way == Way::kShm) multiple ? choose<true, Way::kShm>() : choose<false, Way::kShm>();
  if (way == Way::kPmix) multiple ? choose<true, Way::kPmix>() : choose<false, Way::kPmix>();
  if (way == Way::kRecord) multiple ? choose<true, Way::kRecord>() : choose<false, Way::kRecord>();
  ours[2] = reinterpret_cast<void*>(hook_isend_init);
  ours[3] = reinterpret_cast<void*>(hook_start);
  ours[4] = reinterpret_cast<void*>(hook_irecv_init);
  ours[5] = reinterpret_cast<void*>(hook_del_comm);
  for (int k = 0; k < 6; ++k)
    __atomic_store_n(&table.entries[place_of(k)], ours[k], __ATOMIC_RELEASE);
}

void remove_hooks() {
  void* const before[6] = {
      reinterpret_cast<void*>(counting.send),   reinterpret_cast<void*>(counting.isend),
      reinterpret_cast<void*>(real.isend_init), reinterpret_cast<void*>(real.start),
      reinterpret_cast<void*>(real.irecv_init), reinterpret_cast<void*>(real.del_comm)};
  for (int k = 0; k < 6; ++k) {
    void* expected = ours[k];
    __atomic_compare_exchange_n(&table.entries[place_of(k)], &expected, before[k], false,
                                __ATOMIC_RELEASE, __ATOMIC_RELAXED);
  }
}

}  // namespace ondeloc
