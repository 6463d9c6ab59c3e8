// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>
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

void count(const KeptMessage& message) {
  add_started(message.addition);
  if (message.is_modelled) add_modelled(state.slot, message.addition.bytes);
}

}  // namespace

void count_kept(KeptMessages& messages) {
  for (std::size_t i = 0; i < messages.count; ++i) count(messages.begin()[i]);
}

void send_one_modelled(const Shape& shape, bool remote, int peer, std::uint64_t bytes) {
  std::uint64_t* places = remote ? shape.remote_places : shape.places;
  const KeptMessage message{{cell_code_of_place(places[peer]), bytes},
                            remote || peer != shape.communicator.rank};
  if (!keep_message(message)) count(message);
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
