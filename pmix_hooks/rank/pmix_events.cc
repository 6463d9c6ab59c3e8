// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/pmix_events.h"

#include <pmix.h>
#include <stdlib.h>
#include <time.h>

#include <atomic>
#include <cstring>

#include "mapcore/segment/event_record.h"

#include "pmix_hooks/rank/symbols.h"
#include "pmix_hooks/rank/text.h"

namespace ondeloc {
namespace {

// Only types and constants of pmix.h are used; functions are found, so that none is linked.
struct EventBuffer {
  std::atomic<std::uint32_t> busy;
  pmix_info_t info[3];
  alignas(8) unsigned char record[ONDELOC_RECORD_MAX];
};

struct State {
  decltype(&PMIx_Notify_event) notify;
  decltype(&PMIx_Get) get;
  pmix_proc_t self;
  EventBuffer buffers[8];
};
constinit State state{};

void on_done(pmix_status_t, void* data) {
  static_cast<EventBuffer*>(data)->busy.store(0, std::memory_order_release);
}

EventBuffer* take_buffer() {
  for (EventBuffer& buffer : state.buffers) {
    std::uint32_t free = 0;
    if (buffer.busy.compare_exchange_strong(free, 1, std::memory_order_acquire)) return &buffer;
  }
  return nullptr;
}

// At most about a second, in steps of a millisecond.
EventBuffer* wait_for_free_buffer() {
  for (int turn = 0; turn < 1000; ++turn) {
    if (EventBuffer* buffer = take_buffer()) return buffer;
    const timespec millisecond{0, 1000000};
    nanosleep(&millisecond, nullptr);
  }
  return nullptr;
}

void set_true(pmix_info_t& info, const char* key) {
  std::memset(&info, 0, sizeof(info));
  copy_text(info.key, key);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
}

void set_record(pmix_info_t& info, unsigned char* record, std::uint32_t length) {
  std::memset(&info, 0, sizeof(info));
  copy_text(info.key, ONDELOC_RECORD_KEY);
  info.value.type = PMIX_BYTE_OBJECT;
  info.value.data.bo.bytes = reinterpret_cast<char*>(record);
  info.value.data.bo.size = length;
}

bool read_identity() {
  const char* nspace = getenv("PMIX_NAMESPACE");
  const char* rank = getenv("PMIX_RANK");
  if (nspace == nullptr || rank == nullptr || *rank < '0' || *rank > '9') return false;
  if (std::strlen(nspace) >= sizeof(state.self.nspace)) return false;
  copy_text(state.self.nspace, nspace);
  state.self.rank = leading_number(rank);
  return true;
}

// "0,2,3" -> numbers.
std::uint32_t parse_ranks(const char* text, std::uint32_t* ranks, std::uint32_t max) {
  std::uint32_t count = 0;
  while (*text >= '0' && *text <= '9') {
    const char* end = nullptr;
    const std::uint32_t rank = leading_number(text, &end);
    if (count < max) ranks[count] = rank;
    ++count;
    text = *end == ',' ? end + 1 : end;
  }
  return count;
}

}  // namespace

bool events_start() {
  const auto initialized =
      reinterpret_cast<decltype(&PMIx_Initialized)>(pmix_symbol("PMIx_Initialized"));
  state.notify = reinterpret_cast<decltype(state.notify)>(pmix_symbol("PMIx_Notify_event"));
  state.get = reinterpret_cast<decltype(state.get)>(pmix_symbol("PMIx_Get"));
  return read_identity() && state.notify != nullptr && initialized != nullptr && initialized() != 0;
}

bool send_event(int record_type, const void* record, std::uint32_t length, bool wait_for_buffer) {
  if (state.notify == nullptr || length > ONDELOC_RECORD_MAX) return false;
  EventBuffer* buffer = wait_for_buffer ? wait_for_free_buffer() : take_buffer();
  if (buffer == nullptr) return false;
  std::memcpy(buffer->record, record, length);
  set_true(buffer->info[0], PMIX_EVENT_NON_DEFAULT);
  set_true(buffer->info[1], PMIX_EVENT_DO_NOT_CACHE);
  set_record(buffer->info[2], buffer->record, length);
  const pmix_status_t rc = state.notify(ONDELOC_EVENT_BASE - record_type, &state.self,
                                        PMIX_RANGE_LOCAL, buffer->info, 3, on_done, buffer);
  if (rc == PMIX_SUCCESS) return true;
  // No callback comes then.
  buffer->busy.store(0, std::memory_order_release);
  return rc == PMIX_OPERATION_SUCCEEDED;
}

std::uint32_t local_peers(std::uint32_t* ranks, std::uint32_t max) {
  if (state.get == nullptr) return 0;
  pmix_proc_t job = state.self;
  job.rank = PMIX_RANK_WILDCARD;
  pmix_value_t* value = nullptr;
  if (state.get(&job, PMIX_LOCAL_PEERS, nullptr, 0, &value) != PMIX_SUCCESS || value == nullptr)
    return 0;
  std::uint32_t count = 0;
  if (value->type == PMIX_STRING && value->data.string != nullptr)
    count = parse_ranks(value->data.string, ranks, max);
  // PMIx_Value_free does the same to a string, but has other names in other releases.
  if (value->type == PMIX_STRING) free(value->data.string);
  free(value);
  return count <= max ? count : 0;
}

}  // namespace ondeloc
