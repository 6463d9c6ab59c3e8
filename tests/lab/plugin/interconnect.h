// SPDX-License-Identifier: MIT
// Memory controllers, links between nodes, and the ports of the last-level caches, with what each
// transfer costs.
#pragma once
#include <atomic>
#include <deque>

#include "tests/lab/plugin/machine.h"
#include "tests/lab/plugin/resource.h"
#include "tests/lab/plugin/routes.h"

namespace numalab {

class Interconnect {
 public:
  static constexpr std::uint32_t kLineBytes = 64;
  static constexpr std::uint32_t kHeaderBytes = 8;
  static constexpr std::uint32_t kMessageBytes = 16;  // an invalidation and its answer

  explicit Interconnect(const Machine& machine);

  // Without distance links and cache ports cost nothing: the control experiment.
  void set_distance(bool on) { distance_ = on; }

  // Latencies in picoseconds: half a round trip from node to node, and one line from cache to
  // cache.
  std::uint64_t way_ps(int from, int to) const {
    return distance_ ? routes_.latency_ps(from, to) / 2 : 0;
  }
  std::uint64_t fabric_ps() const { return distance_ ? fabric_ps_ : 0; }

  // The time that a transfer waits for bandwidth, in picoseconds.
  std::uint64_t from_memory(std::uint64_t now, int home, int llc);
  std::uint64_t to_memory(std::uint64_t now, int llc, int home);
  std::uint64_t between_caches(std::uint64_t now, int from_llc, int to_llc);
  std::uint64_t message(std::uint64_t now, int from_node, int to_node);

  void reset_counts();
  const Machine& machine() const { return machine_; }
  ResourceCounts controller(int node) const { return at(controllers_, node).counts(); }
  ResourceCounts link(int number) const { return at(links_, number).counts(); }  // as in Routes
  ResourceCounts port_in(int llc) const { return at(ports_in_, llc).counts(); }
  ResourceCounts port_out(int llc) const { return at(ports_out_, llc).counts(); }

 private:
  using Resources = std::deque<Resource>;
  static Resource& at(Resources& list, int i) { return list[static_cast<std::size_t>(i)]; }
  static const Resource& at(const Resources& list, int i) {
    return list[static_cast<std::size_t>(i)];
  }
  std::uint64_t along(std::uint64_t now, int from, int to, std::uint32_t bytes);

  Machine machine_;
  Routes routes_;
  std::uint64_t fabric_ps_;
  Resources controllers_, links_, ports_in_, ports_out_;
  std::atomic<bool> distance_{true};
};

}  // namespace numalab
