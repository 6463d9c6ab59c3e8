// SPDX-License-Identifier: Apache-2.0
#include "mapcore/step/rank_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "mapcore/report/report.h"

namespace ondeloc {
namespace {

using Condition = std::function<bool(const RankState&)>;

struct NoteOfBit {
  std::uint32_t bit;
  bool uncounted;
  const char* text;  // follows "rank 3: " or "all ranks: "
};

constexpr NoteOfBit kNotes[] = {
    {ONDELOC_NOTE_THREAD_MULTIPLE, false, "MPI_THREAD_MULTIPLE: counters are updated atomically"},
    {ONDELOC_NOTE_SESSIONS, false,
     "MPI Sessions are used: counting begins with the first communicator that is made from one"},
    {ONDELOC_NOTE_ONE_SIDED, false,
     "one-sided communication is used: each transfer is counted where the program asks for it"},
    {ONDELOC_NOTE_SHARED_WINDOW, true,
     "windows of shared memory are used: loads and stores in them are not counted"},
    {ONDELOC_NOTE_UNSEEN_COLLECTIVES, true,
     "collectives bypass Open MPI's table of messages (coll/sm, XHC, UCC or the like): Bcast, "
     "Reduce, Allreduce, Allgather and Alltoall are counted as if the data went directly to the "
     "ranks that need them (see \"modelled\"); other collectives are not counted"},
    {ONDELOC_NOTE_WINDOW_SENDS, false,
     "Open MPI makes messages of one-sided transfers (osc/pt2pt): these messages are counted"},
    {ONDELOC_NOTE_SECOND_CLAIM, true,
     "a second process called MPI_Init under this rank; ondeloc left that process alone"},
    {ONDELOC_NOTE_WORLD_SIZE, true, "MPI_COMM_WORLD has another size than the step: left alone"},
    {ONDELOC_NOTE_FOREIGN_JOB, true, "started by another launcher inside the step: left alone"},
    {ONDELOC_NOTE_UNKNOWN_MPI, true,
     "the MPI library is not one that ondeloc can count in: left alone"},
    {ONDELOC_NOTE_TRANSPORT_PMIX, false, "reports by PMIx events (transport=pmix)"},
    {ONDELOC_NOTE_NO_PMIX, false, "no PMIx: no events, counters come by shared memory alone"},
    {ONDELOC_NOTE_BOUND_MEMORY, false,
     "a memory policy names NUMA nodes (srun --mem-bind, numactl): after a move new pages still "
     "come from these"},
    {ONDELOC_NOTE_BY_HANDLE, true,
     "the program looks MPI's functions up in the handle of the library (ctypes, Julia): nothing "
     "is counted"},
    {ONDELOC_NOTE_SINGLETON, true,
     "an MPICH program started as a world of one rank: nothing is counted; start it with srun "
     "--mpi=pmi2"},
    {ONDELOC_NOTE_MODELLED, false,
     "collectives are counted by a model of MPICH's algorithms (see \"modelled\"); point-to-point "
     "messages are counted as they are sent"},
    {ONDELOC_NOTE_TUNED, false,
     "MPIR_CVAR_* variables choose MPICH's collective algorithms: the model follows the defaults "
     "and may be wrong"},
    {ONDELOC_NOTE_NOT_VALIDATED, false,
     "this MPI library belongs to the MPICH family but ondeloc was never validated with it"},
    {ONDELOC_NOTE_NO_MEMORY, true,
     "memory for counters ran out (ulimit -v, or the kernel's limits): what was sent on some "
     "communicators or by some persistent requests is not counted"},
};

long count_of(const Ranks& ranks, const Condition& holds) {
  return std::count_if(ranks.all().begin(), ranks.all().end(), holds);
}

// "rank 3: TEXT", "ranks 0, 1, 2, 3, ...: TEXT", "all ranks: TEXT"; empty if no rank is concerned.
std::optional<std::string> about(const Ranks& ranks, const Condition& holds, const char* text) {
  std::string who;
  int count = 0;
  for (const RankState& state : ranks.all()) {
    if (!holds(state)) continue;
    ++count;
    if (count <= 4) who += fmt::format("{}{}", count > 1 ? ", " : "", state.world.value);
  }
  if (count == 0) return {};
  if (count == ranks.count() && count > 1) return fmt::format("all ranks: {}", text);
  if (count > 4 && count < ranks.count()) who += ", ...";
  return fmt::format("rank{} {}: {}", count > 1 ? "s" : "", who, text);
}

bool has_attached(const RankState& state) { return state.attached() || state.gone != 0; }

// True if the process has called MPI_Init and tells itself why it does not count.
bool was_left_alone(const RankState& state) {
  constexpr std::uint32_t kReasons = ONDELOC_NOTE_WORLD_SIZE | ONDELOC_NOTE_FOREIGN_JOB |
                                     ONDELOC_NOTE_UNKNOWN_MPI | ONDELOC_NOTE_SINGLETON;
  return (state.notes & kReasons) != 0;
}

// A process that is not a descendant of the task: its row is read, but the mapper may not move it.
bool is_stranger(const RankState& state) { return state.refused && !state.attached(); }

void add_attach_note(const Ranks& ranks, std::vector<RankNote>& notes) {
  const auto counted = count_of(
      ranks, [](const RankState& state) { return has_attached(state) || is_stranger(state); });
  if (counted == 0) {
    if (count_of(ranks, was_left_alone) == 0) notes.push_back({kNobodyCalled, false});
  } else if (counted < ranks.count()) {
    notes.push_back({fmt::format("{} of {} ranks called MPI_Init with ondeloc's library", counted,
                                 ranks.count()),
                     true});
  }
  if (auto text = about(ranks, is_stranger, "attached from outside the task: counted, not moved"))
    notes.push_back({*std::move(text), false});
}

void add_bit_notes(const Ranks& ranks, std::vector<RankNote>& notes) {
  for (const NoteOfBit& note : kNotes) {
    const auto noted = [&](const RankState& state) { return (state.notes & note.bit) != 0; };
    if (auto text = about(ranks, noted, note.text))
      notes.push_back({*std::move(text), note.uncounted});
  }
}

void add_limit_note(const Ranks& ranks, std::vector<RankNote>& notes) {
  const auto lost = count_of(ranks, [](const RankState& state) { return state.no_descriptor; });
  if (lost == 0) return;
  notes.push_back({fmt::format("{} ranks were not followed: the limit of open files (ulimit -Hn) "
                               "is too low",
                               lost),
                   true});
}

}  // namespace

std::vector<RankNote> notes_of_ranks(const Ranks& ranks) {
  std::vector<RankNote> notes;
  add_attach_note(ranks, notes);
  add_bit_notes(ranks, notes);
  add_limit_note(ranks, notes);
  return notes;
}

std::optional<std::string> note_of_lost_counts(const Ranks& ranks) {
  return about(
      ranks, [](const RankState& state) { return state.lost_its_counts(); },
      "ended without MPI_Finalize: what was sent since the last interval is not counted");
}

}  // namespace ondeloc
