// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/attach.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "mapcore/segment/header_check.h"
#include "mapcore/segment/rank_env.h"

#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/mpi_family.h"
#include "pmix_hooks/rank/mpich_collectives.h"
#include "pmix_hooks/rank/mpich_handles.h"
#include "pmix_hooks/rank/notes.h"
#include "pmix_hooks/rank/once.h"
#include "pmix_hooks/rank/one_sided.h"
#include "pmix_hooks/rank/open_mpi_table.h"
#include "pmix_hooks/rank/own_binding.h"
#include "pmix_hooks/rank/persistent.h"
#include "pmix_hooks/rank/pmix_events.h"
#include "pmix_hooks/rank/pml_hooks.h"
#include "pmix_hooks/rank/rank_segment.h"
#include "pmix_hooks/rank/reporter.h"
#include "pmix_hooks/rank/symbols.h"
#include "pmix_hooks/rank/text.h"
#include "pmix_hooks/rank/unseen_collectives.h"
#include "pmix_hooks/rank/world.h"

namespace ondeloc {
namespace {

enum class Launch { kPmix, kForeignPmix, kOther };

struct Self {
  Once preparing, opening;
  std::atomic<bool> tried, attached;
  std::atomic<bool> by_session;  // there was no MPI_Init so far
  bool in_step;
  Launch launch;
  StepEnv step;
  RankSegment segment;
  MpiCalls calls;
  PmlTable table;
  MpiLibrary library;
  int world_rank;
  int local_rank;  // -1 until known
  int pid;         // who attached
  int thread_level;
  bool events;
  bool by_pmix;  // the transport
  CountMode mode;
};
constinit Self self{};

void* zeroed(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// The local rank of the task, for use as long as the rank in MPI_COMM_WORLD is not known.
int task_local_id() {
  const char* text = getenv("SLURM_LOCALID");
  const int id = text == nullptr ? -1 : static_cast<int>(leading_number(text));
  return id >= 0 && static_cast<std::uint32_t>(id) < self.step.local_ranks ? id : -1;
}

bool leave_alone(std::uint32_t why) {
  add_note(why);
  return false;
}

// mpirun inside a step and a step inside a step make other jobs, whose ranks are their own. If no
// PMIx server has launched this process, then Slurm's rank must be MPI's.
bool of_this_step() {
  if (self.launch == Launch::kPmix) return true;
  const char* procid = getenv("SLURM_PROCID");
  return self.launch == Launch::kOther && procid != nullptr &&
         static_cast<int>(leading_number(procid)) == self.world_rank;
}

// Threads of a session may send beside those of the world at any level of the world.
bool is_multiple() {
  return self.thread_level >= open_mpi::kThreadMultiple ||
         (all_notes() & ONDELOC_NOTE_SESSIONS) != 0;
}

bool is_mpich() { return self.library.family == MpiFamily::kMpich; }

bool recognise_handles() {
  if (self.library.family == MpiFamily::kOpenMpi) {
    self.calls.comm_world = mpi_object(open_mpi::kCommWorld);
    return self.calls.comm_world != nullptr && find_pml_table(self.library.series, self.table);
  }
  mpich_handles_start(has_standard_abi());
  self.calls.comm_world = word_of_bits(mpich_handles.comm_world);
  return is_mpich() && are_mpich_handles(self.calls, !self.by_session);
}

// MPI does not tell the level of a session: threads may send at once.
bool find_thread_level() {
  self.thread_level = open_mpi::kThreadMultiple;
  if (self.by_session) return true;
  if (self.calls.query_thread(&self.thread_level) != open_mpi::kSuccess) return false;
  self.thread_level = standard_abi::thread_level(self.thread_level);
  return true;
}

bool recognise_mpi() {
  if (!find_mpi_calls(self.calls)) return false;
  self.library = recognise_library(self.calls);
  return recognise_handles() && find_thread_level();
}

bool check_world(void* session) {
  int size = 0;
  if (!find_world(self.calls, session, self.world_rank, size))
    return leave_alone(ONDELOC_NOTE_UNKNOWN_MPI);
  if (is_mpich() && size == 1 && self.step.world_ranks > 1)
    return leave_alone(ONDELOC_NOTE_SINGLETON);
  if (!of_this_step()) return leave_alone(ONDELOC_NOTE_FOREIGN_JOB);
  if (static_cast<std::uint32_t>(size) != self.step.world_ranks)
    return leave_alone(ONDELOC_NOTE_WORLD_SIZE);
  return true;
}

bool choose_transport() {
  const RankTransport wanted = self.step.transport;
  // With the shm transport no event is needed.
  self.events = wanted != RankTransport::kShm && self.launch == Launch::kPmix && events_start();
  if (!self.events && wanted != RankTransport::kShm) add_note(ONDELOC_NOTE_NO_PMIX);
  self.by_pmix =
      wanted == RankTransport::kPmix || (wanted == RankTransport::kAuto && !self.segment.valid());
  return self.by_pmix ? self.events : self.segment.valid();
}

// The pmix transport needs these in place of the segment: the world rank of each local rank,
// ascending, and the table from world rank to local rank.
struct PrivateWorld {
  std::uint32_t* world_of_local;
  LocalTable table;
};

bool world_from_segment(PrivateWorld& world) {
  world.table = self.segment.table();
  for (std::uint32_t w = 0; w < world.table.world_ranks; ++w) {
    const int local = self.segment.local_of(w);
    if (local >= 0) world.world_of_local[local] = w;
  }
  return true;
}

bool world_from_pmix(PrivateWorld& world) {
  const std::uint32_t n = self.step.local_ranks, all = self.step.world_ranks;
  auto* table = static_cast<std::uint32_t*>(zeroed(std::size_t{all} * sizeof(std::uint32_t)));
  if (table == nullptr || local_peers(world.world_of_local, n) != n) return false;
  for (std::uint32_t local = 0; local < n; ++local)
    if (world.world_of_local[local] < all) table[world.world_of_local[local]] = local + 1;
  world.table = {reinterpret_cast<std::atomic<std::uint32_t>*>(table), all, n};
  return true;
}

bool make_private_world(PrivateWorld& world) {
  if (self.step.local_ranks == 0 || self.step.local_ranks > ONDELOC_MAX_LOCAL_RANKS ||
      self.step.world_ranks > ONDELOC_MAX_WORLD_RANKS)
    return false;
  world.world_of_local = static_cast<std::uint32_t*>(
      zeroed(std::size_t{self.step.local_ranks} * sizeof(std::uint32_t)));
  if (world.world_of_local == nullptr) return false;
  return self.segment.valid() ? world_from_segment(world) : world_from_pmix(world);
}

bool claim(const LocalTable& table) {
  const auto rank = static_cast<std::uint32_t>(self.world_rank);
  const std::uint32_t local = table.local_of_world[rank].load(std::memory_order_relaxed);
  if (local == 0 || local > table.local_ranks) return false;
  self.local_rank = static_cast<int>(local) - 1;
  if (self.segment.valid() && !self.segment.claim(self.local_rank))
    return leave_alone(ONDELOC_NOTE_SECOND_CLAIM);
  return true;
}

ondeloc_cell* own_row() {
  if (self.by_pmix)
    return static_cast<ondeloc_cell*>(
        zeroed(ondeloc_row_size(self.step.local_ranks, self.step.world_ranks)));
  self.segment.touch_row(self.local_rank);
  return self.segment.row(self.local_rank);
}

CountMode choose_mode() {
  if (self.by_pmix) return CountMode::kPmix;
  return self.segment.start_recording(self.local_rank, recording) ? CountMode::kRecord
                                                                  : CountMode::kShm;
}

void prepare_counting(const LocalTable& table, ondeloc_cell* row) {
  static const std::uint64_t never = 0;
  const bool multiple = is_multiple();
  if (multiple) add_note(ONDELOC_NOTE_THREAD_MULTIPLE);
  if (self.by_pmix) add_note(ONDELOC_NOTE_TRANSPORT_PMIX);
  if (may_be_moved() && is_bound_to_memory()) add_note(ONDELOC_NOTE_BOUND_MEMORY);
  peers_start(self.calls, table, row, [] { add_note(ONDELOC_NOTE_NO_MEMORY); });
  type_sizes_start(self.calls, is_mpich());
  ondeloc_slot* slot = self.segment.valid() ? &self.segment.slot(self.local_rank) : nullptr;
  unseen_collectives_start(self.calls, slot);
  if (is_mpich()) collectives_start(self.calls, table, self.library.knows_nodes, slot);
  self.mode = choose_mode();
  persistent_setup(multiple, self.mode);
  one_sided_start(self.calls, self.mode);
  counting.row = row;
  const bool ticks = self.segment.valid() && self.events;
  counting.tick = ticks ? self.segment.tick() : &never;
  counting.plain = self.mode == CountMode::kShm && !multiple && !ticks;
  counting.tick_seen.store(__atomic_load_n(counting.tick, __ATOMIC_RELAXED));
  follow_nobody();
}

std::uint32_t notes_of_model() {
  std::uint32_t bits = ONDELOC_NOTE_MODELLED;
  if (!self.library.validated) bits |= ONDELOC_NOTE_NOT_VALIDATED;
  if (collectives_are_tuned()) bits |= ONDELOC_NOTE_TUNED;
  return bits;
}

void start_counting() {
  counting.active.store(true);
  if (is_mpich())
    add_note(notes_of_model());
  else
    install_hooks(self.table, is_multiple(), self.mode);
  set_mpi_family(self.library.family);
  self.attached.store(true);
}

void publish_slot() {
  if (!self.segment.valid()) return;
  ondeloc_slot& slot = self.segment.slot(self.local_rank);
  __atomic_store_n(&slot.thread_level, self.thread_level, __ATOMIC_RELAXED);
  for (std::size_t c = 0; c < sizeof(slot.library); ++c)
    __atomic_store_n(&slot.library[c], self.library.name[c], __ATOMIC_RELAXED);
  __atomic_store_n(&slot.rank_state, ONDELOC_RANK_ATTACHED, __ATOMIC_RELEASE);
}

void start_reporting(ondeloc_cell* row, const std::uint32_t* world_of_local) {
  ReporterPlan plan{};
  plan.world_rank = static_cast<std::uint32_t>(self.world_rank);
  plan.local_rank = static_cast<std::uint32_t>(self.local_rank);
  plan.local_ranks = self.step.local_ranks;
  plan.world_ranks = self.step.world_ranks;
  plan.row = row;
  plan.events = self.events;
  plan.world_of_local = self.by_pmix ? world_of_local : nullptr;
  plan.interval_ms = self.step.interval_ms;
  plan.multiple = is_multiple();
  plan.thread_level = self.thread_level;
  plan.notes = all_notes();
  plan.library = self.library.name;
  reporter_start(plan);
}

Launch launched_by() {
  const char* nspace = getenv("PMIX_NAMESPACE");
  if (nspace == nullptr) return Launch::kOther;
  char expected[64];
  snprintf(expected, sizeof(expected), "slurm.pmix.%u.%u", self.step.job, self.step.step);
  return std::strcmp(nspace, expected) == 0 ? Launch::kPmix : Launch::kForeignPmix;
}

bool segment_is_open() {
  self.opening.run([] {
    if (self.in_step) self.segment.open(self.step);
  });
  return self.segment.valid();
}

void join(void* session) {
  if (!self.in_step) return;
  self.by_session.store(session != nullptr);
  segment_is_open();
  if (!recognise_mpi()) return add_note(ONDELOC_NOTE_UNKNOWN_MPI);
  if (!check_world(session)) return;
  if (!choose_transport()) return;
  PrivateWorld world{nullptr, {}};
  if (!self.by_pmix)
    world.table = self.segment.table();
  else if (!make_private_world(world))
    return;
  if (!claim(world.table)) return;
  ondeloc_cell* row = own_row();
  if (row == nullptr) return;
  prepare_counting(world.table, row);
  self.pid = getpid();
  publish_slot();
  start_reporting(row, world.world_of_local);
  start_counting();
}

void tell_notes(std::uint32_t all_bits) {
  if (!segment_is_open()) return;
  const int local = self.local_rank >= 0 ? self.local_rank : task_local_id();
  if (local >= 0) self.segment.note(local, all_bits);
}

}  // namespace

void prepare() {
  self.preparing.run([] {
    self.local_rank = -1;
    self.in_step = parse_step_env(getenv(ONDELOC_ENV_STEP), self.step);
    self.launch = launched_by();
    notes_start(tell_notes);
    if (segment_is_open()) self.segment.tell_start();
  });
}

bool may_be_moved() {
  return self.in_step && self.step.moves != 0 && self.launch != Launch::kForeignPmix;
}

void attach(void* session) {
  if (session == nullptr) self.by_session.store(false);
  if (self.tried.exchange(true)) return;
  join(session);
  if (mpi_family() == MpiFamily::kUndecided) set_mpi_family(MpiFamily::kNone);
}

bool attach_was_tried() { return self.tried.load(); }

bool attached_by_session() { return self.attached.load() && self.by_session.load(); }

void detach() {
  if (getpid() != self.pid) return;  // a child that the rank has forked
  if (!self.attached.exchange(false)) return;
  if (!is_mpich()) remove_hooks();
  counting.active.store(false);
  follow_nobody();
  peers_stop();
  const bool told = reporter_finish();
  // If a DETACH event says it, then that event comes after all events still under way.
  if (self.segment.valid() && !told)
    __atomic_store_n(&self.segment.slot(self.local_rank).rank_state, ONDELOC_RANK_DETACHED,
                     __ATOMIC_RELEASE);
}

}  // namespace ondeloc
