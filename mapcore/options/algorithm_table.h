// SPDX-License-Identifier: Apache-2.0
// The one table of mapping algorithms: names, arguments, help and sources. srun checks an option
// against it without linking any algorithm; mapcore/map joins each row to its function at compile
// time. Thread safety: constants and pure functions.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "mapcore/base/result.h"
#include "mapcore/options/lama_layout.h"

namespace ondeloc {

// Checks an argument without a matrix. The error is one sentence.
using CheckFunction = Status (*)(std::string_view argument);

struct AlgorithmRow {
  std::string_view name;
  std::string_view argument;  // "" none, "[:seed]", ":<layout>"
  std::string_view summary;
  std::string_view source;  // paper, section, algorithm
  CheckFunction check = nullptr;
};

Status check_no_argument(std::string_view argument);
Status check_seed(std::string_view argument);
Status check_ondeloc(std::string_view argument);
Status check_deloc(std::string_view argument);
Status check_effort(std::string_view argument);

// Largest effort of coordinated.
inline constexpr std::uint64_t kMostEffort = 100;

// The default of `ondeloc map`, which computes a mapping once for whole runs: it may take some tens
// of milliseconds more than the mapper may take while the job runs (etc/doc/evidence.md).
inline constexpr const char* kOfflineAlgorithm = "coordinated:30";
// Largest number of ranks for it: 4096 ranks that all talk to each other would take a minute.
inline constexpr int kMostOfflineRanks = 1024;
// `named`, or the default for so many ranks if it is empty.
std::string offline_algorithm(const std::string& named, int ranks);

inline constexpr auto kAlgorithmRows = std::to_array<AlgorithmRow>({
    {"identity", "", "keep the present mapping", "null object", check_no_argument},
    {"packed", "", "neighbouring ranks together, node after node", "DeLoc thesis, section 2.3.3",
     check_no_argument},
    {"scatter", "", "ranks round-robin over the NUMA nodes", "DeLoc thesis, section 2.3.3",
     check_no_argument},
    {"random", "[:seed]", "shuffled; the default seed is 1", "DeLoc thesis, section 2.3.3",
     check_seed},
    {"balance", "", "the most talkative ranks to different NUMA nodes",
     "DeLoc thesis, section 2.3.3", check_no_argument},
    {"locality", "", "least traffic over the topology tree, load ignored",
     "after TreeMatch: Jeannot, Mercier, Tessier 2014", check_no_argument},
    {"ondeloc", "[:reading]",
     "OnDeLocMap+: partners join heavy ranks; readings: together, literal, fresh",
     "Agung et al. 2020, Algorithm 1", check_ondeloc},
    {"deloc", "[:join]", "DeLocMap: pairs that talk at the same time go to different nodes",
     "DeLoc thesis, section 3.3, Algorithm 1", check_deloc},
    {"lama", ":<layout>", "LAMA layouts such as lama:scbnh: which level varies fastest",
     "Hursey, Squyres, Dontje 2011", check_lama},
    {"coordinated", "[:effort]",
     "few bytes between nodes, no node overloaded; effort 1 (default) to 100",
     "ondeloc's own: Kernighan and Lin 1970, Fiduccia and Mattheyses 1982, Sanchis 1989",
     check_effort},
});

// "name" or "name:argument", split at the first ':'.
struct AlgorithmSpec {
  std::string_view name;
  std::string_view argument;  // empty without one
};
AlgorithmSpec split_algorithm(std::string_view spec);
// The row of a spec, after a check of its argument. The error names the known algorithms.
Result<const AlgorithmRow*> find_algorithm_row(std::string_view spec);

}  // namespace ondeloc
