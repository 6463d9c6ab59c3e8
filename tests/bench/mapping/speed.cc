// SPDX-License-Identifier: Apache-2.0
// mapping_speed [--smoke]: time of coordinated and of Scotch's library on the same inputs in one
// run, without a present mapping and with one that needs no change. CPU time of this thread, the
// least of several turns, taken in alternation.
#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <cstring>

#include "tests/bench/mapping/inputs.h"
#include "tests/bench/mapping/peers.h"

using namespace ondeloc;
using namespace ondeloc::bench;

namespace {

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

double time_of(const MapRequest& request, Mapping& mapping) {
  const double begin = cpu_seconds();
  mapping = *compute_mapping("coordinated", request);
  return cpu_seconds() - begin;
}

void compare(const Input& input, int nodes, int turns) {
  Problem problem(input.matrix, nodes);
  double fresh = 1e300, kept = 1e300, peer = 1e300;
  Mapping mapping, again;
  time_of(problem.request(), mapping);
  for (int turn = 0; turn < turns; ++turn) {
    const double begin = cpu_seconds();
    const auto theirs = scotch(problem.request());
    peer = std::min(peer, theirs ? theirs->seconds : cpu_seconds() - begin);
    problem.previous.clear();
    fresh = std::min(fresh, time_of(problem.request(), mapping));
    problem.previous = mapping;
    kept = std::min(kept, time_of(problem.request(), again));
  }
  fmt::print("{:<18} {:>5} {:>8} {:>9.3f} {:>9.3f} {:>9.3f} {:>7.2f} {:>7.2f}{}\n", input.name,
             nodes, problem.traffic.pairs(), peer * 1e3, fresh * 1e3, kept * 1e3, fresh / peer,
             kept / peer, again == mapping ? "" : " moved");
}

}  // namespace

int main(int argc, char** argv) {
  const bool smoke = argc > 1 && std::strcmp(argv[1], "--smoke") == 0;
  fmt::print("peer: {}, default strategy, archCmpltw\n", scotch_version());
  fmt::print("{:<18} {:>5} {:>8} {:>9} {:>9} {:>9} {:>7} {:>7}\n", "input", "nodes", "pairs",
             "peer ms", "ours ms", "kept ms", "ours/", "kept/");
  for (const int ranks : smoke ? std::vector{16} : std::vector{32, 128, 512, 1024}) {
    for (const Input& input : sparse_and_dense(ranks)) {
      for (const int nodes : {2, 4, 8}) compare(input, nodes, smoke ? 2 : ranks > 256 ? 5 : 30);
    }
  }
  return 0;
}
