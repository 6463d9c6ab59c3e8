// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/pml_hooks.h"

#include <vector>

#include "mapcore/segment/peer_cells.h"
#include "tests/unit/catch.h"

#include "pmix_hooks/rank/counting.h"
#include "pmix_hooks/rank/reporter.h"

extern bool several_threads_in_reporter;
bool several_threads_in_reporter = true;

// The reporter is not linked: nothing is to be told.
namespace ondeloc {
bool reporter_multiple() { return several_threads_in_reporter; }
void reporter_notify() {}
void reporter_clock() {}
}  // namespace ondeloc

namespace {

using namespace ondeloc;
using open_mpi::Handle;

constexpr int kMembers = 4;
constexpr std::uint32_t kLocalRanks = 8;

// An object of MPI. Its rank r has the world rank r + shift; an element of a type has `bytes`.
struct MpiObject {
  bool exists = true;
  int shift = 2;
  long long bytes = 24;
};
MpiObject sent_on, sent_of, the_world{true, 0, 0};

MpiObject& object(Handle handle) { return *reinterpret_cast<MpiObject*>(handle); }
Handle handle_of(MpiObject& any) { return reinterpret_cast<Handle>(&any); }
int answer(Handle handle) { return object(handle).exists ? 0 : 5; }

int ask_inter(Handle comm, int* flag) { return *flag = 0, answer(comm); }
int ask_size(Handle comm, int* size) { return *size = kMembers, answer(comm); }
int ask_group(Handle comm, Handle* group) { return *group = comm, answer(comm); }
int ask_bytes(Handle type, long long* bytes) { return *bytes = object(type).bytes, answer(type); }
int no_group(Handle, int, const int*, Handle*) { return 1; }
int ask_ranks(Handle group, int, const int* rank, Handle, int* world) {
  return *world = *rank + object(group).shift, answer(group);
}
int keep_group(Handle*) { return 0; }

// When the message has arrived, another thread frees both.
void free_all() { sent_on.exists = sent_of.exists = false; }
int send_and_free(const void*, std::size_t, Handle, int, int, int, Handle) { return free_all(), 0; }
int isend_and_free(const void*, std::size_t, Handle, int, int, int, Handle, Handle*) {
  return free_all(), 0;
}

// Open MPI's table with these two functions and ondeloc's hooks in it, for threads.
class HookedTable {
 public:
  HookedTable() : local_(kLocalRanks), row_(ondeloc_row_size(kLocalRanks, kLocalRanks)) {
    sent_on = sent_of = {};
    MpiCalls calls{};
    calls.comm_test_inter = ask_inter;
    calls.comm_size = ask_size;
    calls.comm_group = ask_group;
    calls.group_incl = no_group;
    calls.group_translate_ranks = ask_ranks;
    calls.group_free = keep_group;
    calls.type_size = ask_bytes;
    calls.comm_world = calls.world_group = handle_of(the_world);
    for (std::uint32_t rank = 0; rank < kLocalRanks; ++rank) local_[rank] = rank + 1;
    peers_start(calls, {local_.data(), kLocalRanks, kLocalRanks}, cells(), [] {});
    type_sizes_start(calls, true);
    counting.row = cells();
    counting.tick = &tick_;
    counting.active = true;
    follow_nobody();
    entries_[at_.send] = reinterpret_cast<void*>(send_and_free);
    entries_[at_.isend] = reinterpret_cast<void*>(isend_and_free);
    install_hooks({entries_.data(), at_}, true, CountMode::kShm);
  }
  ~HookedTable() {
    remove_hooks();
    forget_comm(handle_of(sent_on));
    follow_nobody();
    counting.active = false;
  }

  int send(int count, int to) const {
    const auto hook = reinterpret_cast<open_mpi::PmlSend>(entries_[at_.send]);
    return hook(nullptr, count, handle_of(sent_of), to, 0, 0, handle_of(sent_on));
  }
  int isend(int count, int to) const {
    const auto hook = reinterpret_cast<open_mpi::PmlIsend>(entries_[at_.isend]);
    return hook(nullptr, count, handle_of(sent_of), to, 0, 0, handle_of(sent_on), nullptr);
  }
  const ondeloc_cell& cell(int world) { return cells()[world]; }

 private:
  ondeloc_cell* cells() { return reinterpret_cast<ondeloc_cell*>(row_.data()); }

  open_mpi::PmlIndexes at_ = open_mpi::kSeries4;
  std::vector<void*> entries_ = std::vector<void*>(64);
  std::vector<std::atomic<std::uint32_t>> local_;
  std::vector<char> row_;
  std::uint64_t tick_ = 0;
};

}  // namespace

TEST_CASE("a message is counted as it was sent, whatever another thread frees before it returns") {
  HookedTable table;
  SECTION("send") { CHECK(table.send(10, 1) == 0); }
  SECTION("isend") { CHECK(table.isend(10, 1) == 0); }
  CHECK(table.cell(3).messages == 1);
  CHECK(table.cell(3).bytes == 240);
}
