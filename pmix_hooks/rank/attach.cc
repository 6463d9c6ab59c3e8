// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/attach.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstring>

#include "mapcore/segment/rank_env.h"

#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/open_mpi_table.h"
#include "pmix_hooks/rank/own_binding.h"
#include "pmix_hooks/rank/persistent.h"
#include "pmix_hooks/rank/pmix_events.h"
#include "pmix_hooks/rank/pml_hooks.h"
#include "pmix_hooks/rank/rank_segment.h"
#include "pmix_hooks/rank/reporter.h"
#include "pmix_hooks/rank/text.h"

namespace ondeloc {
namespace {

enum class Launch { kPmix, kForeignPmix, kOther };

struct Self {
  bool in_step;
  Launch launch;
  StepEnv step;
  RankSegment segment;
  MpiCalls calls;
  PmlTable table;
  char library[40];
  int world_rank;
  int local_rank;  // -1 until known
  int pid;         // who attached
  int thread_level;
  bool events;
  bool by_pmix;  // the transport
  Way way;
};
constinit Self self{};

// What one thread does while the others that come to it wait: MPI sessions are made by any thread,
// also beside MPI_Init. Not pthread_once, which would need a C library of 2.34.
class Once {
 public:
  template <class Work>
  void run(Work work) {
    State before = State::kNotYet;
    if (state_.compare_exchange_strong(before, State::kNow)) {
      work();
      state_.store(State::kDone);
    }
    while (state_.load() != State::kDone) sched_yield();
  }

 private:
  enum class State { kNotYet, kNow, kDone };
  std::atomic<State> state_{State::kNotYet};
};
constinit Once preparing, opening;
std::atomic<bool> tried{false}, attached{false};
std::atomic<std::uint32_t> notes{0};

void* zeroed(std::size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// Of the task, where the rank in MPI_COMM_WORLD is not (yet) to be trusted.
int task_local_id() {
  const char* text = getenv("SLURM_LOCALID");
  const int id = text == nullptr ? -1 : static_cast<int>(leading_number(text));
  return id >= 0 && static_cast<std::uint32_t>(id) < self.step.local_ranks ? id : -1;
}

bool leave_alone(std::uint32_t why) {
  add_note(why);
  return false;
}

// mpirun inside a step, a step inside a step: other jobs with ranks of their own. Where no PMIx has
// launched this process, Slurm's rank must be MPI's.
bool of_this_step() {
  if (self.launch == Launch::kPmix) return true;
  const char* procid = getenv("SLURM_PROCID");
  return self.launch == Launch::kOther && procid != nullptr &&
         static_cast<int>(leading_number(procid)) == self.world_rank;
}

// The MPI ABI has larger numbers for all levels: a weaker one merely costs atomics then. Threads of
// a session may send beside those of the world, whatever level that has.
bool is_multiple() {
  return self.thread_level >= open_mpi::kThreadMultiple ||
         (notes.load(std::memory_order_relaxed) & ONDELOC_NOTE_SESSIONS) != 0;
}

bool recognise_mpi() {
  if (!find_mpi_calls(self.calls)) return false;
  const int series = open_mpi_series(self.calls, self.library);
  return series != 0 && find_pml_table(series, self.table) &&
         self.calls.query_thread(&self.thread_level) == open_mpi::kSuccess;
}

bool check_world() {
  int size = 0;
  if (self.calls.comm_rank(self.calls.comm_world, &self.world_rank) != open_mpi::kSuccess ||
      self.calls.comm_size(self.calls.comm_world, &size) != open_mpi::kSuccess)
    return leave_alone(ONDELOC_NOTE_UNKNOWN_MPI);
  if (!of_this_step()) return leave_alone(ONDELOC_NOTE_FOREIGN_JOB);
  if (static_cast<std::uint32_t>(size) != self.step.world_ranks)
    return leave_alone(ONDELOC_NOTE_WORLD_SIZE);
  return true;
}

bool choose_transport() {
  const RankTransport wanted = self.step.transport;
  // With shm nobody listens, and nothing is missed.
  self.events = wanted != RankTransport::kShm && self.launch == Launch::kPmix && events_start();
  if (!self.events && wanted != RankTransport::kShm) add_note(ONDELOC_NOTE_NO_PMIX);
  self.by_pmix =
      wanted == RankTransport::kPmix || (wanted == RankTransport::kAuto && !self.segment.valid());
  return self.by_pmix ? self.events : self.segment.valid();
}

// What pmix transport needs in place of the segment. World ranks by local rank, ascending, and the
// table from world rank to local rank.
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
        zeroed((std::size_t{self.step.local_ranks} + 1) * sizeof(ondeloc_cell)));
  self.segment.touch_row(self.local_rank);
  return self.segment.row(self.local_rank);
}

Way choose_way() {
  if (self.by_pmix) return Way::kPmix;
  return self.segment.start_recording(self.local_rank, recording) ? Way::kRecord : Way::kShm;
}

bool prepare_counting(const LocalTable& table, ondeloc_cell* row) {
  static const std::uint64_t never = 0;
  const bool multiple = is_multiple();
  if (multiple) add_note(ONDELOC_NOTE_THREAD_MULTIPLE);
  if (self.by_pmix) add_note(ONDELOC_NOTE_TRANSPORT_PMIX);
  if (may_be_moved() && is_bound_to_memory()) add_note(ONDELOC_NOTE_BOUND_MEMORY);
  if (!peers_start(self.calls, table, [] { add_note(ONDELOC_NOTE_NO_MEMORY); })) return false;
  type_sizes_start(self.calls);
  self.way = choose_way();
  persistent_setup(multiple, self.way);
  counting.row = row;
  counting.tick = self.segment.valid() && self.events ? self.segment.tick() : &never;
  counting.tick_seen.store(__atomic_load_n(counting.tick, __ATOMIC_RELAXED));
  counting.last.store(&no_peers);
  return true;
}

void start_counting() {
  counting.active.store(true);
  install_hooks(self.table, is_multiple(), self.way);
  attached.store(true);
}

void publish_slot() {
  if (!self.segment.valid()) return;
  ondeloc_slot& slot = self.segment.slot(self.local_rank);
  __atomic_store_n(&slot.thread_level, self.thread_level, __ATOMIC_RELAXED);
  for (std::size_t c = 0; c < sizeof(slot.library); ++c)
    __atomic_store_n(&slot.library[c], self.library[c], __ATOMIC_RELAXED);
  __atomic_store_n(&slot.rank_state, ONDELOC_RANK_ATTACHED, __ATOMIC_RELEASE);
}

void start_reporting(const ondeloc_cell* row, const std::uint32_t* world_of_local) {
  ReporterPlan plan{};
  plan.world_rank = static_cast<std::uint32_t>(self.world_rank);
  plan.local_rank = static_cast<std::uint32_t>(self.local_rank);
  plan.local_ranks = self.step.local_ranks;
  plan.row = row;
  plan.events = self.events;
  plan.world_of_local = self.by_pmix ? world_of_local : nullptr;
  plan.interval_ms = self.step.interval_ms;
  plan.multiple = is_multiple();
  plan.thread_level = self.thread_level;
  plan.notes = notes.load(std::memory_order_relaxed);
  plan.library = self.library;
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
  opening.run([] {
    if (self.in_step) self.segment.open(self.step);
  });
  return self.segment.valid();
}

void join() {
  if (!self.in_step) return;
  segment_is_open();
  if (!recognise_mpi()) return add_note(ONDELOC_NOTE_UNKNOWN_MPI);
  if (!check_world()) return;
  if (!choose_transport()) return;
  PrivateWorld world{nullptr, {}};
  if (!self.by_pmix)
    world.table = self.segment.table();
  else if (!make_private_world(world))
    return;
  if (!claim(world.table)) return;
  ondeloc_cell* row = own_row();
  if (row == nullptr || !prepare_counting(world.table, row)) return;
  self.pid = getpid();
  publish_slot();
  start_reporting(row, world.world_of_local);
  start_counting();
}

}  // namespace

void add_note(std::uint32_t bits) {
  notes.fetch_or(bits);
  if (!segment_is_open()) return;
  const int local = self.local_rank >= 0 ? self.local_rank : task_local_id();
  if (local >= 0) self.segment.note(local, notes.load());
}

void prepare() {
  preparing.run([] {
    self.local_rank = -1;
    self.in_step = parse_step_env(getenv(ONDELOC_ENV_STEP), self.step);
    self.launch = launched_by();
  });
}

bool may_be_moved() {
  return self.in_step && self.step.moves != 0 && self.launch != Launch::kForeignPmix;
}

void attach() {
  if (!tried.exchange(true)) join();
}

void detach() {
  if (getpid() != self.pid) return;  // a child that the rank has forked
  if (!attached.exchange(false)) return;
  remove_hooks();
  counting.active.store(false);
  counting.last.store(&no_peers);
  peers_stop();
  const bool told = reporter_finish();
  // Where DETACH says it, it comes behind what is still under way.
  if (self.segment.valid() && !told)
    __atomic_store_n(&self.segment.slot(self.local_rank).rank_state, ONDELOC_RANK_DETACHED,
                     __ATOMIC_RELEASE);
}

}  // namespace ondeloc
