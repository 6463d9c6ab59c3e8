// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <initializer_list>

#include "pmix_hooks/rank/kept_messages.h"
#include "pmix_hooks/rank/mpich_call.h"
#include "pmix_hooks/rank/mpich_collectives.h"
#include "pmix_hooks/rank/mpich_neighbours.h"
#include "pmix_hooks/rank/mpich_nodes.h"
#include "pmix_hooks/rank/notes.h"
#include "pmix_hooks/rank/persistent.h"
#include "pmix_hooks/rank/symbols.h"
#include "pmix_hooks/rank/text.h"
#include "pmix_hooks/rank/unseen_collectives.h"

namespace ondeloc {
namespace {

constexpr char kPipeline[] = "MPIR_CVAR_ALLGATHERV_PIPELINE_MSG_SIZE";
constexpr std::uint64_t kDefaultPipeline = 32768;

struct State {
  ondeloc_slot* slot;
  std::uint64_t pipeline_bytes;
  int (*op_commutative)(void* operation, int* answer);
};
constinit State state{};

std::uint64_t pipeline_of_user() {
  const char* text = getenv(kPipeline);
  return text == nullptr ? kDefaultPipeline : leading_number(text);
}

}  // namespace

void collectives_start(const MpiCalls& calls, const LocalTable& table, bool knows_nodes,
                       ondeloc_slot* slot) {
  state.slot = slot;
  state.pipeline_bytes = pipeline_of_user();
  state.op_commutative =
      reinterpret_cast<decltype(state.op_commutative)>(mpi_symbol("PMPI_Op_commutative"));
  mpich_nodes_start(table, knows_nodes);
  shapes_start(calls, [] { add_note(ONDELOC_NOTE_NO_MEMORY); });
  neighbours_start();
}

bool collectives_are_tuned() {
  constexpr char kPrefix[] = "MPIR_CVAR_";
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (std::strncmp(*variable, kPrefix, sizeof(kPrefix) - 1) != 0) continue;
    if (std::strncmp(*variable, kPipeline, sizeof(kPipeline) - 1) == 0) continue;
    for (const char* word : {"_ALGORITHM=", "_TUNING_JSON_FILE",
                             "_MSG_SIZE=", "_MIN_PROCS=", "_COMPOSITION=", "_COLLECTIVES="})
      if (std::strstr(*variable, word) != nullptr) return true;
  }
  return false;
}

namespace {

// `place`: the cell code of a peer, or its world rank in the high half and no cell yet.
std::uint64_t cell_code_of_place(std::uint64_t& place) {
  std::uint64_t code = __atomic_load_n(&place, __ATOMIC_RELAXED);
  if (static_cast<std::uint32_t>(code) != 0) return code;
  code = cell_code_of_world(static_cast<int>(code >> 32));
  __atomic_store_n(&place, code, __ATOMIC_RELAXED);
  return code;
}

// The messages that are kept in place of being counted; null: messages are counted.
KeptMessages*& keeping() {
  // NOLINTNEXTLINE(bugprone-dynamic-static-initializers): zero, as all __thread here
  static __thread KeptMessages* messages __attribute__((tls_model("initial-exec")));
  return messages;
}

constexpr std::size_t kFirstBytes = 4096;

bool has_room(const KeptMessages& messages) {
  return sizeof(KeptMessages) + (messages.count + 1) * sizeof(KeptMessage) <= messages.bytes;
}

// Twice as large, or with null the first ones. Null: no memory; `messages` stay as they are.
KeptMessages* enlarged(KeptMessages* messages) {
  const std::size_t bytes = messages == nullptr ? kFirstBytes : 2 * messages->bytes;
  void* memory = messages == nullptr ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                                     : mremap(messages, messages->bytes, bytes, MREMAP_MAYMOVE);
  if (memory == MAP_FAILED) {
    add_note(ONDELOC_NOTE_NO_MEMORY);
    return nullptr;
  }
  auto* larger = static_cast<KeptMessages*>(memory);
  larger->bytes = bytes;
  return larger;
}

void keep(const KeptMessage& message) {
  KeptMessages* messages = keeping();
  if (!has_room(*messages)) messages = enlarged(messages);
  if (messages == nullptr) return;
  keeping() = messages;
  messages->begin()[messages->count++] = message;
}

void count(const KeptMessage& message) {
  add_started(message.addition);
  if (message.is_modelled) add_modelled(state.slot, message.addition.bytes);
}

}  // namespace

KeptMessages* messages_of_call(CountCall count_call, const Word* words, KeptMessages* reused) {
  KeptMessages* messages = reused == nullptr ? enlarged(nullptr) : reused;
  if (messages == nullptr) return nullptr;
  messages->count = 0;
  keeping() = messages;
  count_call(words);
  messages = keeping();
  keeping() = nullptr;
  return messages;
}

void count_kept(KeptMessages& messages) {
  for (std::size_t i = 0; i < messages.count; ++i) count(messages.begin()[i]);
}

void send_one_modelled(const Shape& shape, bool remote, int peer, std::uint64_t bytes) {
  std::uint64_t* places = remote ? shape.remote_places : shape.places;
  const KeptMessage message{{cell_code_of_place(places[peer]), bytes},
                            remote || peer != shape.communicator.rank};
  keeping() == nullptr ? count(message) : keep(message);
}

void send_as_modelled(const Shape& shape, const Collective& call) {
  // The model gives the shape back unchanged.
  const mpich_model::Sink sink{[](void* self, bool remote, int peer, std::uint64_t bytes) {
                                 send_one_modelled(*static_cast<const Shape*>(self), remote, peer,
                                                   bytes);
                               },
                               const_cast<Shape*>(&shape)};
  mpich_model::send_messages(shape.communicator, call, sink);
}

std::uint64_t ring_pipeline_bytes() { return state.pipeline_bytes; }

// All predefined operations but MPI_REPLACE and MPI_NO_OP, which no collective takes, are.
bool is_commutative(Word operation) {
  int answer = 1;
  if (mpich_is_predefined_op(operation) || state.op_commutative == nullptr) return true;
  return state.op_commutative(comm_at(operation), &answer) != 0 || answer != 0;
}

}  // namespace ondeloc
