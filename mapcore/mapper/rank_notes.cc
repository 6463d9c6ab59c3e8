// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/rank_notes.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

namespace ondeloc {
namespace {

using Condition = std::function<bool(const RankState&)>;

struct NoteOfBit {
  std::uint32_t bit;
  bool uncounted;
  const char* text;  // behind "rank 3: " or "ranks all: "
};

constexpr NoteOfBit kNotes[] = {
    {ONDELOC_NOTE_THREAD_MULTIPLE, false, "MPI_THREAD_MULTIPLE: counters are updated atomically"},
    {ONDELOC_NOTE_SESSIONS, true, "MPI Sessions are used: their traffic is not counted"},
    {ONDELOC_NOTE_ONE_SIDED, true,
     "one-sided communication is used: it is not counted, but for what Open MPI makes messages of"},
    {ONDELOC_NOTE_SECOND_CLAIM, true,
     "a second process called MPI_Init under this rank: it was left alone"},
    {ONDELOC_NOTE_WORLD_SIZE, true, "MPI_COMM_WORLD has another size than the step: left alone"},
    {ONDELOC_NOTE_FOREIGN_JOB, true, "started by another launcher inside the step: left alone"},
    {ONDELOC_NOTE_UNKNOWN_MPI, true,
     "the MPI library is not one that ondeloc can count in: left alone"},
    {ONDELOC_NOTE_TRANSPORT_PMIX, false, "reports by PMIx events (transport=pmix)"},
    {ONDELOC_NOTE_NO_PMIX, false, "no PMIx: no events, counters come by shared memory alone"},
    {ONDELOC_NOTE_BOUND_MEMORY, false,
     "a memory policy names NUMA nodes (srun --mem-bind, numactl): after a move new pages still "
     "come from these"},
    {ONDELOC_NOTE_NO_MEMORY, true,
     "no memory was left to count in (ulimit -v, or the kernel's limits): what was sent on some "
     "communicators or by some persistent requests is not counted"},
};

long count_of(const Ranks& ranks, const Condition& holds) {
  return std::count_if(ranks.all().begin(), ranks.all().end(), holds);
}

// "rank 3: TEXT", "ranks 0, 1, 2, 3, ...: TEXT", "ranks all: TEXT"; nothing where it holds for
// none.
std::optional<std::string> about(const Ranks& ranks, const Condition& holds, const char* text) {
  std::string who;
  int count = 0;
  for (const RankState& state : ranks.all()) {
    if (!holds(state)) continue;
    ++count;
    if (count <= 4) who += fmt::format("{}{}", count > 1 ? ", " : "", state.world.value);
  }
  if (count == 0) return {};
  if (count == ranks.count()) who = "all";
  if (count > 4 && count < ranks.count()) who += ", ...";
  return fmt::format("rank{} {}: {}", count > 1 ? "s" : "", who, text);
}

bool has_attached(const RankState& state) { return state.attached() || state.gone != 0; }

// Its row is read as every other, but what is no process of the task is not the mapper's to move.
bool is_stranger(const RankState& state) { return state.refused && !state.attached(); }

void add_attach_note(const Ranks& ranks, std::vector<RankNote>& notes) {
  const auto counted = count_of(
      ranks, [](const RankState& state) { return has_attached(state) || is_stranger(state); });
  if (counted == 0) {
    notes.push_back(
        {"no process came through MPI_Init under ondeloc: nothing was counted or moved", false});
  } else if (counted < ranks.count()) {
    notes.push_back(
        {fmt::format("{} of {} ranks came through MPI_Init under ondeloc", counted, ranks.count()),
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
