// SPDX-License-Identifier: Apache-2.0
// mapping_speed [--smoke]: measures coordinated and Scotch's library on the same inputs in one run,
// without a present mapping, with one that needs no change ("kept": a search anew), and with one
// for which the mapper knows the answer from the interval before ("known"). Scotch runs as a
// program calls it, with a thread for each CPU, and with one thread. Times are the CPU time of all
// threads, the least of several turns that alternate. Fails if ranks move from a mapping that
// coordinated has found without a gain, or if that mapping costs more than packed.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "mapcore/decide/known_mapping.h"
#include "tests/bench/machine.h"
#include "tests/bench/mapping/inputs.h"
#include "tests/bench/mapping/peers.h"

using namespace ondeloc;
using namespace ondeloc::bench;

namespace {

constexpr double kNone = 1e300;

template <class Compute>
double time_of(Compute compute, const MapRequest& request, Mapping& mapping) {
  const std::uint64_t begin = cpu_ns();
  mapping = *compute("coordinated", request);
  return 1e-9 * static_cast<double>(cpu_ns() - begin);
}

double time_of_peer(const Problem& problem, Threads threads) {
  const auto theirs = scotch(problem, threads);
  return theirs ? theirs->seconds : kNone;
}

// Returns false if ranks move without a gain, or if the mapping costs more than packed.
bool compare(const Input& input, const Shape& shape, int turns) {
  Problem problem(input.matrix, shape);
  double fresh = kNone, kept = kNone, known = kNone, peer = kNone, alone = kNone;
  Mapping mapping, again, reused;
  KnownMapping answer;
  const auto ask = [&](auto algorithm, const MapRequest& request) -> Result<Mapping> {
    auto found = answer.compute(algorithm, request);
    if (!found) return std::move(found).error();
    return std::move(found->mapping);
  };
  time_of(compute_mapping, problem.request(), mapping);
  for (int turn = 0; turn < turns; ++turn) {
    problem.previous.clear();
    peer = std::min(peer, time_of_peer(problem, Threads::kAsCalled));
    alone = std::min(alone, time_of_peer(problem, Threads::kOne));
    fresh = std::min(fresh, time_of(compute_mapping, problem.request(), mapping));
    problem.previous = mapping;
    kept = std::min(kept, time_of(compute_mapping, problem.request(), again));
    known = std::min(known, time_of(ask, problem.request(), reused));
  }
  fmt::print(
      "{:<18} {:>8} {:>8} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>9.3f} {:>7.2f} {:>7.2f} "
      "{:>7.2f} {:>7.2f} {:>7.2f}{}\n",
      input.name, shape.name, problem.traffic.pairs(), peer * 1e3, alone * 1e3, fresh * 1e3,
      kept * 1e3, known * 1e3, fresh / peer, kept / peer, known / peer, fresh / alone, kept / alone,
      again == mapping ? "" : " moved");
  const auto cost = [&](const Mapping& each) {
    return evaluate(problem.model, problem.slots, problem.traffic, each).total;
  };
  const bool gains =
      (again == mapping && reused == mapping) || cost(again) < cost(mapping) * (1 - 1e-7);
  return gains && cost(mapping) <= cost(*compute_mapping("packed", problem.request())) * (1 + 1e-9);
}

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
  fmt::print(
      "peer: {}, default strategy, archCmplt or archTleaf; alone: the same with one thread\n",
      scotch_version());
  fmt::print("{:<18} {:>8} {:>8} {:>9} {:>9} {:>9} {:>9} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7}\n",
             "input", "machine", "pairs", "peer ms", "alone ms", "ours ms", "kept ms", "known ms",
             "ours/p", "kept/p", "known/p", "ours/a", "kept/a");
  bool is_kept = true;
  for (const int ranks : smoke ? std::vector{16} : std::vector{32, 128, 512, 1024}) {
    for (const Input& input : sparse_and_dense(ranks)) {
      const int turns = smoke ? 2 : ranks > 256 ? 5 : 30;
      for (const auto* shapes : {&flat_shapes(), &tree_shapes()})
        for (const Shape& shape : *shapes) is_kept = compare(input, shape, turns) && is_kept;
    }
  }
  // The largest node that is planned for: a turn of the mapper may take 20 ms there.
  const Shape largest{"2x4 l3x4", 2, 4, 4};
  if (!smoke) is_kept = compare({"random-8.768", random_sparse(768, 8, 1)}, largest, 5) && is_kept;
  return is_kept ? 0 : 1;
}
