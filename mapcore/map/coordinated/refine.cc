// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/coordinated/refine.h"

#include <algorithm>
#include <cstring>

#include "mapcore/map/coordinated/random.h"
#include "mapcore/map/coordinated/tuning.h"

namespace ondeloc::coordinated {
namespace {

std::size_t refiner_octets(std::size_t vertices, std::size_t nodes, std::size_t places) {
  return vertices * (2 * sizeof(double) + sizeof(int) + 1) + places * sizeof(float) +
         nodes * nodes * (sizeof(SwapTerms) + sizeof(LeastChange)) + nodes * sizeof(int) + 256;
}

}  // namespace

Refiner::Refiner(State& state)
    : state_(state),
      memory_(refiner_octets(static_cast<std::size_t>(state.vertices()),
                             static_cast<std::size_t>(state.nodes()), state.positions())),
      selective_(state.vertices() > tuning::kExhaustive) {
  const auto n = static_cast<std::size_t>(state.vertices());
  const auto k = static_cast<std::size_t>(state.nodes());
  edge_.resize(n);
  targets_.reserve(k);
  terms_.resize(k * k);
  bounds_.resize(state.positions());
  least_back_.resize(k * k);
  least_edge_.resize(n);
  waiting_.assign(n, 1);
  checked_epoch_.assign(n, -1);
  for (int i = 0; i < state.vertices(); ++i) {
    const auto row = state.graph().row(i);
    if (static_cast<int>(row.size()) + 1 < state.vertices() || row.empty()) continue;
    double& least = least_edge_[i];
    least = row.front().bytes;
    for (const Traffic::Edge& edge : row) least = std::min(least, edge.bytes);
  }
}

void Refiner::swap(int first, int second) {
  forget(state_.part(first), state_.part(second));
  state_.swap(first, second);
}

void Refiner::move(int vertex, int to) {
  forget(state_.part(vertex), to);
  state_.move(vertex, to);
}

void Refiner::mark(int vertex) {
  waiting_[vertex] = 1;
  for (const Traffic::Edge& edge : state_.graph().row(vertex)) waiting_[edge.peer] = 1;
}

void Refiner::apply(int vertex, const Choice& choice) {
  if (recording_) steps_.push_back({vertex, choice.second, state_.part(vertex)});
  if (choice.second >= 0) {
    swap(vertex, choice.second);
    mark(choice.second);
  } else {
    move(vertex, choice.to);
  }
  mark(vertex);
  work_ -= static_cast<std::int64_t>(state_.graph().row(vertex).size()) +
           std::int64_t{2} * state_.nodes();
}

bool Refiner::descend() {
  forget_all();
  acceptance_.start(state_.value());
  bool changed = true;
  // A move may make a step possible for a vertex that is not a neighbour of the moved vertex. Small
  // graphs are therefore searched again.
  for (int turn = 0; changed && (turn == 0 || !selective_); ++turn) {
    std::fill(waiting_.begin(), waiting_.end(), 1);
    changed = settle(0);
    if (work_ <= 0) return false;
  }
  return true;
}

// Returns the next waiting vertex from `from` on, then from the first vertex on; -1 if no vertex
// waits.
int Refiner::next_waiting(int from) const {
  const char* begin = waiting_.data();
  const auto at = static_cast<std::size_t>(from), n = waiting_.size();
  const void* hit = std::memchr(begin + at, 1, n - at);
  if (hit == nullptr) hit = std::memchr(begin, 1, at);
  return hit == nullptr ? -1 : static_cast<int>(static_cast<const char*>(hit) - begin);
}

// Returns true if a vertex moved.
bool Refiner::settle(int first) {
  bool changed = false;
  for (int vertex = next_waiting(first); vertex >= 0 && work_ > 0; vertex = next_waiting(vertex)) {
    waiting_[vertex] = 0;
    int& checked = checked_epoch_[vertex];
    if (checked == state_.epoch()) continue;
    const Choice choice = best_of(vertex);
    if (choice.to < 0) {
      checked = state_.epoch();
      continue;
    }
    apply(vertex, choice);
    acceptance_.lower(choice.value);
    changed = true;
  }
  return changed;
}

bool Refiner::is_local_optimum() {
  forget_all();
  acceptance_.start(state_.value());
  for (int vertex = 0; vertex < state_.vertices(); ++vertex) {
    if (best_of(vertex).to >= 0) return false;
  }
  return true;
}

// Moves a few random vertices to random nodes, in exchange for a vertex of the node or into free
// room.
void Refiner::kick(std::uint64_t& random) {
  const auto size = state_.graph().size;
  for (int turn = 2 + below(random, 2); turn > 0; --turn) {
    const int first = below(random, state_.vertices()), to = below(random, state_.nodes());
    const int needs = size[first];
    const auto members = state_.members(to);
    const int places = static_cast<int>(members.size()) + (state_.free_slots(to) >= needs ? 1 : 0);
    if (to == state_.part(first) || places == 0) continue;
    const auto place = static_cast<std::size_t>(below(random, places));
    const int second = place < members.size() ? members[place] : -1;
    if (second < 0 || size[second] == needs) apply(first, {state_.value(), second, to});
  }
}

void Refiner::go_back() {
  for (; !steps_.empty(); steps_.pop_back()) {
    const Step& step = steps_.back();
    if (step.second >= 0) {
      swap(step.first, step.second);
    } else {
      move(step.first, step.from);
    }
  }
}

void Refiner::iterate(std::uint64_t seed, std::int64_t patience) {
  std::uint64_t random = random_from(seed);
  Value best = state_.value();
  forget_all();
  std::fill(waiting_.begin(), waiting_.end(), 0);
  recording_ = true;
  std::int64_t last = work_;
  while (work_ > 0 && last - work_ < patience) {
    --work_;  // if no two vertices can be exchanged, nothing else counts down
    kick(random);
    acceptance_.start(state_.value());
    settle(below(random, state_.vertices()));
    if (is_better(best, state_.value())) {
      std::fill(waiting_.begin(), waiting_.end(), 0);
      go_back();
    } else {
      if (is_better(state_.value(), best)) last = work_;
      best = state_.value();
      steps_.clear();
    }
  }
  steps_.clear();
  recording_ = false;
}

}  // namespace ondeloc::coordinated
