// SPDX-License-Identifier: Apache-2.0
#include "pmix_hooks/rank/mpich_nodes.h"

#include <stdlib.h>
#include <strings.h>
#include <sys/mman.h>

#include <initializer_list>

#include "pmix_hooks/rank/text.h"

namespace ondeloc {
namespace {

struct State {
  int* nodes;  // of each world rank
  int ranks;
};
constinit State state{};

int* zeroed_ints(int count) {
  const std::size_t bytes = static_cast<std::size_t>(count) * sizeof(int);
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<int*>(memory);
}

int number(const char* name) {
  const char* text = getenv(name);
  return text == nullptr ? 0 : static_cast<int>(leading_number(text));
}

bool is_true(const char* name) {
  const char* text = getenv(name);
  if (text == nullptr) return false;
  return leading_number(text) != 0 || strcasecmp(text, "true") == 0 ||
         strcasecmp(text, "yes") == 0 || strcasecmp(text, "on") == 0;
}

int clique_of(int rank, int cliques) {
  if (!is_true("MPIR_CVAR_CLIQUES_BY_BLOCK")) return rank % cliques;
  const int size = state.ranks / cliques, larger = state.ranks % cliques;
  const int middle = (size + 1) * larger;
  return rank < middle ? rank / (size + 1) : (rank - larger) / size;
}

// MPICH makes cliques only if all ranks are on one node.
void make_cliques() {
  int cliques = number("MPIR_CVAR_NUM_CLIQUES");
  if (cliques <= 1) cliques = is_true("MPIR_CVAR_ODD_EVEN_CLIQUES") ? 2 : 1;
  if (cliques > state.ranks) cliques = state.ranks;
  for (int rank = 0; cliques > 1 && rank < state.ranks; ++rank)
    state.nodes[rank] = clique_of(rank, cliques);
}

bool agrees(const LocalTable& table, int here) {
  for (int rank = 0; rank < state.ranks; ++rank)
    if ((table.local_of_world[rank].load(std::memory_order_relaxed) != 0) !=
        (state.nodes[rank] == here))
      return false;
  return true;
}

// The ranks of this node are known; all others count as being alone.
void keep_own_node(const LocalTable& table) {
  int alone = 1;
  for (int rank = 0; rank < state.ranks; ++rank)
    state.nodes[rank] =
        table.local_of_world[rank].load(std::memory_order_relaxed) != 0 ? 0 : alone++;
}

void use_layout_of_slurm(const LocalTable& table) {
  const char* text = getenv("SLURM_STEP_TASKS_PER_NODE");
  if (text == nullptr) text = getenv("SLURM_TASKS_PER_NODE");
  const int here = number("SLURM_NODEID");
  for (const bool cyclic : {false, true})
    if (text != nullptr && nodes_of_layout(text, cyclic, state.ranks, state.nodes) &&
        agrees(table, here))
      return;
  keep_own_node(table);
}

// "2(x3),1": ranks of one node and how many nodes have as many. False at the end.
bool read_part(const char*& text, int& ranks, int& nodes) {
  if (*text < '0' || *text > '9') return false;
  ranks = static_cast<int>(leading_number(text, &text));
  nodes = 1;
  if (text[0] == '(' && text[1] == 'x') {
    nodes = static_cast<int>(leading_number(text + 2, &text));
    if (*text == ')') ++text;
  }
  if (*text == ',') ++text;
  return true;
}

bool fill_block(const char* text, int tasks, int* nodes) {
  int next = 0, node = 0, ranks = 0, many = 0;
  while (read_part(text, ranks, many))
    for (; many > 0; --many, ++node)
      for (int i = 0; i < ranks && next < tasks; ++i) nodes[next++] = node;
  return next == tasks;
}

// In each turn every node that has room takes one rank.
bool fill_cyclic(const char* text, int tasks, int* nodes) {
  int next = 0;
  for (int turn = 0; next < tasks; ++turn) {
    const int before = next;
    const char* at = text;
    int node = 0, ranks = 0, many = 0;
    while (read_part(at, ranks, many))
      for (; many > 0; --many, ++node)
        if (ranks > turn && next < tasks) nodes[next++] = node;
    if (next == before) return false;
  }
  return true;
}

}  // namespace

bool nodes_of_layout(const char* text, bool cyclic, int tasks, int* nodes) {
  return cyclic ? fill_cyclic(text, tasks, nodes) : fill_block(text, tasks, nodes);
}

void mpich_nodes_start(const LocalTable& table, bool knows_nodes) {
  state.ranks = static_cast<int>(table.world_ranks);
  state.nodes = zeroed_ints(state.ranks);
  if (state.nodes == nullptr) return;
  if (!knows_nodes || is_true("MPIR_CVAR_NOLOCAL") || is_true("MPIR_CVAR_NO_LOCAL")) {
    for (int rank = 0; rank < state.ranks; ++rank) state.nodes[rank] = rank;
  } else if (table.local_ranks == table.world_ranks) {
    make_cliques();
  } else {
    use_layout_of_slurm(table);
  }
}

int mpich_node_limit() { return state.ranks > 0 ? state.ranks : 1; }

int mpich_node_of_world(int world) {
  return state.nodes == nullptr || world < 0 || world >= state.ranks ? 0 : state.nodes[world];
}

}  // namespace ondeloc
