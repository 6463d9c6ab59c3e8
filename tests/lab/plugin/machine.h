// SPDX-License-Identifier: MIT
// The simulated machine as its description file states it (tests/lab/machines/*.json).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace numalab {

struct CacheSize {
  std::uint64_t kib = 0;
  unsigned ways = 0;
  std::uint64_t sets() const { return kib * 1024 / kLineBytes / ways; }
  static constexpr unsigned kLineBytes = 64;
};

// A pair of directed links between two nodes, one in each direction.
struct Link {
  int a = 0, b = 0;
  double latency_ns = 0;  // what a request and its answer together lose on the way
  double gbytes_per_s = 0;
};

struct Machine {
  std::string name, title;
  int nodes = 0, llcs_per_node = 0, cores_per_llc = 0, threads_per_core = 1;
  double instructions_per_ns = 0;
  double smt_share = 1;            // speed of a hardware thread while its sibling runs
  int stream_depth = 1;            // requests of one core that are under way at once in a stream
  double thread_to_thread_ns = 0;  // for a line that the other thread of the core has changed
  CacheSize private_cache, llc;
  double llc_ns = 0;             // access of the last-level cache
  double core_to_core_ns = 0;    // more for a line that another core of the same cache has changed
  double fabric_ns = 0;          // more for a line in another last-level cache, on any node
  double port_gbytes_per_s = 0;  // of one last-level cache, in and out each; 0: no limit
  double memory_ns = 0;          // beyond the last-level cache
  double memory_gbytes_per_s = 0;  // of one node's controller
  std::vector<Link> links;

  int llcs() const { return nodes * llcs_per_node; }
  int cores() const { return llcs() * cores_per_llc; }
  int vcpus() const { return cores() * threads_per_core; }
  int core_of(int vcpu) const { return vcpu / threads_per_core; }
  int vcpus_per_llc() const { return cores_per_llc * threads_per_core; }
  int llc_of(int core) const { return core / cores_per_llc; }
  int node_of(int cache) const { return cache / llcs_per_node; }
};

// Throws std::runtime_error with one sentence when the text is not the description of a machine.
Machine parse_machine(const std::string& text, const std::string& where);
Machine read_machine(const std::string& path);

}  // namespace numalab
