// SPDX-License-Identifier: Apache-2.0
#include <kaHIP_interface.h>

#include <vector>

#include "tests/bench/mapping/peer_graph.h"
#include "tests/bench/mapping/peers.h"

namespace ondeloc::bench {

std::optional<PeerResult> kahip(const Problem& problem) {
  const auto weighed = problem.model.amounts(problem.traffic);
  const Traffic& traffic = weighed ? *weighed : problem.traffic;
  Csr<kahip_idx> csr = to_csr<kahip_idx>(traffic);
  int ranks = traffic.ranks(), parts = static_cast<int>(problem.machine.llcs.size());
  int distance = 1, qap = 0;
  double imbalance = 0;
  kahip_idx cut = 0;
  std::vector<int> leaf(static_cast<std::size_t>(ranks));
  constexpr int kSeed = 0;
  const double begin = cpu_seconds();
  process_mapping(&ranks, nullptr, csr.begin.data(), csr.weight.data(), csr.peer.data(), &parts,
                  &distance, 1, STRONG, MAPMODE_MULTISECTION, &imbalance, true, kSeed, &cut, &qap,
                  leaf.data());
  const double took = cpu_seconds() - begin;
  return PeerResult{to_mapping(problem, traffic, leaf), took};
}

}  // namespace ondeloc::bench
