// SPDX-License-Identifier: MIT
// The whole of one lab: machine, caches, clocks; without QEMU.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <string>

#include "tests/lab/plugin/memory_system.h"
#include "tests/lab/plugin/pacer.h"
#include "tests/lab/plugin/streams.h"

namespace numalab {

struct Settings {
  std::string machine;  // path of the description
  std::string output;   // lines of JSON are appended there
  std::uint64_t node_mib = 0;
  Pacing pacing;
  std::chrono::milliseconds writer_patience{10};  // of the host, see await_writer
};

// Reads name=value; throws std::runtime_error with one sentence.
Settings parse_settings(int count, char** words);

class Lab {
 public:
  Lab(const Settings& settings, const Machine& machine);

  Pacer& pacer() { return pacer_; }
  MemorySystem& memory() { return memory_; }
  const Machine& machine() const { return machine_; }
  std::uint64_t ps_per_instruction() const { return ps_per_instruction_; }
  std::uint64_t quantum_ps() const { return settings_.pacing.quantum_ps; }

  void access(int vcpu, std::uint64_t address, bool store, Word word = {}) {
    const std::uint64_t line = address / CacheSize::kLineBytes;
    Counters& counters = pacer_.counters(vcpu);
    ++counters.accesses;
    PrivateCache& cache = memory_.private_cache(vcpu);
    const auto found = cache.find(line, store, pacer_.now(vcpu), word);
    if (found == PrivateCache::Found::kHere) return;
    if (found == PrivateCache::Found::kOvertaken && !await_writer(cache, line, counters)) return;
    miss(vcpu, line, store, counters);
    if (store) cache.wrote(line, word);
  }
  void device_access(int vcpu);
  void synchronize(int vcpu);

  // The output names a run by its label. The caller passes the host's time, so that tests can
  // choose it.
  void push_label(std::uint8_t byte) { label_ = (label_ << 8 | byte) & 0xffffff; }
  void mark(int vcpu, std::uint64_t host_ns);
  std::string dump(int vcpu, int tag, std::uint64_t host_ns, double host_load) const;

 private:
  bool await_writer(PrivateCache& cache, std::uint64_t line, Counters& counters);
  void share_core(int vcpu);
  void miss(int vcpu, std::uint64_t line, bool store, Counters& counters);
  struct Thread {
    Streams streams;
    std::uint64_t stall_seen_ps = 0, run_seen_ps = 0;  // at the last look at the sibling
  };
  Settings settings_;
  Machine machine_;
  std::uint64_t ps_per_instruction_;
  Pacer pacer_;
  MemorySystem memory_;
  std::deque<Thread> threads_;
  std::uint64_t label_ = 0, marked_ps_ = 0, marked_host_ns_ = 0;
};

}  // namespace numalab
