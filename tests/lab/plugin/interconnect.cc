// SPDX-License-Identifier: MIT
#include "tests/lab/plugin/interconnect.h"

namespace numalab {

Interconnect::Interconnect(const Machine& machine)
    : machine_(machine),
      routes_(machine),
      fabric_ps_(static_cast<std::uint64_t>(machine.fabric_ns * 1000)) {
  for (int node = 0; node < machine.nodes; ++node) {
    controllers_.emplace_back(machine.memory_gbytes_per_s);
  }
  for (const Link& link : machine.links) {
    for (int direction = 0; direction < 2; ++direction) links_.emplace_back(link.gbytes_per_s);
  }
  for (int llc = 0; llc < machine.llcs(); ++llc) {
    ports_in_.emplace_back(machine.port_gbytes_per_s);
    ports_out_.emplace_back(machine.port_gbytes_per_s);
  }
}

std::uint64_t Interconnect::along(std::uint64_t now, int from, int to, std::uint32_t bytes) {
  std::uint64_t wait = 0;
  for (const int number : routes_.links(from, to)) {
    wait += at(links_, number).use(now + wait, bytes);
  }
  return distance_ ? wait : 0;
}

std::uint64_t Interconnect::from_memory(std::uint64_t now, int home, int llc) {
  std::uint64_t wait = at(controllers_, home).use(now, kLineBytes);
  wait += along(now + wait, home, machine_.node_of(llc), kLineBytes + kHeaderBytes);
  const std::uint64_t port = at(ports_in_, llc).use(now + wait, kLineBytes);
  return wait + (distance_ ? port : 0);
}

std::uint64_t Interconnect::to_memory(std::uint64_t now, int llc, int home) {
  std::uint64_t wait = at(ports_out_, llc).use(now, kLineBytes);
  wait += along(now + wait, machine_.node_of(llc), home, kLineBytes);
  return wait + at(controllers_, home).use(now + wait, kLineBytes);
}

std::uint64_t Interconnect::between_caches(std::uint64_t now, int from_llc, int to_llc) {
  std::uint64_t wait = at(ports_out_, from_llc).use(now, kLineBytes);
  wait += along(now + wait, machine_.node_of(from_llc), machine_.node_of(to_llc),
                kLineBytes + kHeaderBytes);
  wait += at(ports_in_, to_llc).use(now + wait, kLineBytes);
  return distance_ ? wait : 0;
}

std::uint64_t Interconnect::message(std::uint64_t now, int from_node, int to_node) {
  return along(now, from_node, to_node, kMessageBytes);
}

void Interconnect::reset_counts() {
  for (Resources* list : {&controllers_, &links_, &ports_in_, &ports_out_}) {
    for (Resource& resource : *list) resource.reset_counts();
  }
}

}  // namespace numalab
