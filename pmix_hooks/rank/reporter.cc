// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/reporter.h"

#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "mapcore/segment/peer_cells.h"

#include "pmix_hooks/rank/add_message.h"
#include "pmix_hooks/rank/notes.h"
#include "pmix_hooks/rank/pmix_events.h"
#include "pmix_hooks/rank/row_sender.h"
#include "pmix_hooks/rank/self_facts.h"

namespace ondeloc {
namespace {

struct Totals {
  ondeloc_cell local;
  ondeloc_cell off_node;
};

struct State {
  ReporterPlan plan;
  std::atomic<bool> busy;
  std::atomic<std::uint64_t> next_ms;
  Totals told;  // by SAMPLE
  std::uint32_t samples;
};
constinit State state{};

ondeloc_record_head head_of(ondeloc_record_type type, std::uint32_t length) {
  return {ONDELOC_RECORD_MAGIC,
          ONDELOC_RECORD_VERSION,
          static_cast<std::uint8_t>(type),
          length,
          state.plan.world_rank,
          static_cast<std::uint32_t>(getpid())};
}

ondeloc_cell difference(const ondeloc_cell& now, const ondeloc_cell& then) {
  return {now.bytes - then.bytes, now.messages - then.messages};
}

void add_cell(ondeloc_cell& sum, const ondeloc_cell& shared) {
  const ondeloc_cell cell = read_cell(shared);
  sum.bytes += cell.bytes;
  sum.messages += cell.messages;
}

void add_half(Totals& sum, const ondeloc_cell* cells) {
  for (std::uint32_t j = 0; j < state.plan.local_ranks; ++j)
    if (j != state.plan.local_rank) add_cell(sum.local, cells[j]);
  add_cell(sum.off_node, cells[state.plan.local_ranks]);
}

// Sums the traffic to other local ranks and off the node. Messages of a rank to itself are left out
// everywhere.
Totals totals_now() {
  const bool fetches = (all_notes() & ONDELOC_NOTE_ONE_SIDED) != 0;
  const PeerCells peers =
      peer_cells_of(state.plan.row, state.plan.local_ranks, state.plan.world_ranks);
  Totals sum{};
  add_half(sum, state.plan.row);
  if (fetches) add_half(sum, state.plan.row + state.plan.local_ranks + 1);
  peers.each([&](std::uint32_t, std::uint32_t at) {
    add_cell(sum.off_node, peers.sent[at]);
    if (fetches) add_cell(sum.off_node, peers.fetched[at]);
  });
  return sum;
}

std::uint64_t now_ms() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000 +
         static_cast<std::uint64_t>(now.tv_nsec) / 1000000;
}

void send_attach() {
  ondeloc_record_attach record;
  std::memset(&record, 0, sizeof(record));
  record.head = head_of(ONDELOC_RECORD_ATTACH, sizeof(record));
  record.local_rank = state.plan.local_rank;
  record.thread_level = state.plan.thread_level;
  record.notes = state.plan.notes;
  record.threads = thread_count();
  record.nodes = allowed_nodes();
  allowed_cpus(record.cpus, sizeof(record.cpus));
  std::strncpy(record.library, state.plan.library, sizeof(record.library) - 1);
  send_event(ONDELOC_RECORD_ATTACH, &record, sizeof(record), true);
}

void send_sample() {
  const Totals now = totals_now();
  ondeloc_record_sample record;
  std::memset(&record, 0, sizeof(record));
  record.head = head_of(ONDELOC_RECORD_SAMPLE, sizeof(record));
  record.sequence = state.samples + 1;
  current_place(record.cpu, record.node);
  record.local = difference(now.local, state.told.local);
  record.off_node = difference(now.off_node, state.told.off_node);
  if (!send_event(ONDELOC_RECORD_SAMPLE, &record, sizeof(record), false)) return;
  state.told = now;
  ++state.samples;
}

bool send_detach() {
  const Totals now = totals_now();
  ondeloc_record_detach record;
  std::memset(&record, 0, sizeof(record));
  record.head = head_of(ONDELOC_RECORD_DETACH, sizeof(record));
  record.samples = state.samples;
  record.local = now.local;
  record.off_node = now.off_node;
  return send_event(ONDELOC_RECORD_DETACH, &record, sizeof(record), true);
}

}  // namespace

void reporter_start(const ReporterPlan& plan) {
  state.plan = plan;
  state.next_ms.store(now_ms() + plan.interval_ms, std::memory_order_relaxed);
  if (!plan.events) return;
  if (plan.world_of_local != nullptr)
    row_sender_start({head_of(ONDELOC_RECORD_ROW, 0), plan.row,
                      peer_cells_of(plan.row, plan.local_ranks, plan.world_ranks),
                      plan.world_of_local, plan.local_ranks});
  send_attach();
}

bool reporter_multiple() { return state.plan.multiple; }

void reporter_notify() {
  if (!state.plan.events || state.busy.exchange(true, std::memory_order_acquire)) return;
  send_sample();
  if (state.plan.world_of_local != nullptr) send_changed_cells();
  state.busy.store(false, std::memory_order_release);
}

void reporter_clock() {
  const std::uint64_t now = now_ms();
  std::uint64_t due = state.next_ms.load(std::memory_order_relaxed);
  if (now < due) return;
  if (state.next_ms.compare_exchange_strong(due, now + state.plan.interval_ms,
                                            std::memory_order_relaxed))
    reporter_notify();
}

bool reporter_finish() {
  if (!state.plan.events) return false;
  if (state.plan.world_of_local != nullptr) send_whole_row();
  return send_detach();
}

}  // namespace ondeloc
