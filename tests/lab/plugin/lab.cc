// SPDX-License-Identifier: MIT
#include "tests/lab/plugin/lab.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <stdexcept>

namespace numalab {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::uint64_t number_of(const std::string& name, const std::string& text, std::uint64_t most) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value == 0 || value > most) {
    throw std::runtime_error(name + "=" + text + ": a number from 1 to " + std::to_string(most) +
                             " has to be there");
  }
  return value;
}

OrderedJson to_json(const ResourceCounts& counts) {
  const double requests = static_cast<double>(counts.requests);
  return {
      {"bytes", counts.bytes},
      {"requests", counts.requests},
      {"delay_ns", counts.requests ? static_cast<double>(counts.delay_ps) / 1000 / requests : 0}};
}

OrderedJson to_json(const Counters& counters) {
  OrderedJson json;
  counters.for_each([&](const char* name, std::uint64_t value) { json[name] = value; });
  return json;
}

}  // namespace

Settings parse_settings(int count, char** words) {
  Settings settings;
  for (int i = 0; i < count; ++i) {
    const std::string word = words[i];
    const auto equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (name == "machine") {
      settings.machine = value;
    } else if (name == "output") {
      settings.output = value;
    } else if (name == "node-mib") {
      settings.node_mib = number_of(name, value, 1 << 20);
    } else if (name == "window-ns") {
      settings.pacing.window_ps = number_of(name, value, 1'000'000) * 1000;
    } else if (name == "quantum-ns") {
      settings.pacing.quantum_ps = number_of(name, value, 1'000'000) * 1000;
    } else {
      throw std::runtime_error(
          word + ": the lab knows machine, output, node-mib, window-ns and quantum-ns");
    }
  }
  if (settings.machine.empty() || settings.output.empty() || settings.node_mib == 0) {
    throw std::runtime_error("machine, output and node-mib have to be given");
  }
  return settings;
}

Lab::Lab(const Settings& settings, const Machine& machine)
    : settings_(settings),
      machine_(machine),
      ps_per_instruction_(static_cast<std::uint64_t>(1000 / machine.instructions_per_ns)),
      pacer_(machine.vcpus(), settings.pacing),
      memory_(machine, settings.node_mib << 20, settings.pacing.window_ps),
      threads_(static_cast<std::size_t>(machine.vcpus())) {
  memory_.when_taken([this](int vcpu, std::uint64_t now) { pacer_.poke(vcpu, now); });
}

// The writer is between its store and the call that tells of it: the host can have taken its CPU
// away there. Nobody is told of a device's write at all, hence the end of patience.
bool Lab::await_writer(PrivateCache& cache, std::uint64_t line, Counters& counters) {
  ++counters.overtaken;
  if (cache.await_taken(line, settings_.writer_patience)) return true;
  ++counters.overtaken_in_vain;
  return false;
}

void Lab::miss(int vcpu, std::uint64_t line, bool store, Counters& counters) {
  share_core(vcpu);
  ++counters.private_misses;
  const std::uint64_t now = pacer_.now(vcpu);
  const Cost cost = memory_.access(vcpu, line, store, now, counters);
  if (cost.began_ps != now) pacer_.set(vcpu, cost.began_ps);
  const bool streamed = threads_[static_cast<std::size_t>(vcpu)].streams.continues(line);
  if (streamed) ++counters.streamed;
  const auto depth = static_cast<std::uint64_t>(streamed ? machine_.stream_depth : 1);
  const std::uint64_t stall = cost.latency_ps / depth + cost.wait_ps;
  counters.stall_ps += stall;
  pacer_.add(vcpu, stall);
}

void Lab::device_access(int vcpu) {
  constexpr std::uint64_t kDevicePs = 500'000;
  ++pacer_.counters(vcpu).device_accesses;
  pacer_.counters(vcpu).stall_ps += kDevicePs;
  pacer_.add(vcpu, kDevicePs);
}

// Hardware threads of one core that both run share its issue width: the instructions since the last
// look took longer. A miss looks first, so that no line is handed over between an instruction and
// what others before it still cost.
void Lab::share_core(int vcpu) {
  if (machine_.threads_per_core != 2 || !pacer_.running()) return;
  Thread& thread = threads_[static_cast<std::size_t>(vcpu)];
  const std::uint64_t stalls = pacer_.counters(vcpu).stall_ps;
  const std::uint64_t run = pacer_.unpublished(vcpu);
  const std::uint64_t passed = run - std::min(thread.run_seen_ps, run);
  const std::uint64_t stalled = stalls - std::min(thread.stall_seen_ps, stalls);
  if (!pacer_.idle(vcpu ^ 1) && passed > stalled) {
    const double instructions = static_cast<double>(passed - stalled);
    const auto lag = static_cast<std::uint64_t>(instructions * (1 / machine_.smt_share - 1));
    pacer_.add(vcpu, lag);
    memory_.private_cache(vcpu).caught_up(pacer_.now(vcpu), lag);
  }
  thread.stall_seen_ps = stalls;
  thread.run_seen_ps = pacer_.unpublished(vcpu);
}

void Lab::synchronize(int vcpu) {
  share_core(vcpu);
  pacer_.synchronize(vcpu);
  threads_[static_cast<std::size_t>(vcpu)].run_seen_ps = 0;
}

void Lab::mark(int vcpu, std::uint64_t host_ns) {
  for (int i = 0; i < machine_.vcpus(); ++i) pacer_.counters(i) = {};
  for (Thread& thread : threads_) thread.stall_seen_ps = 0;
  memory_.interconnect().reset_counts();
  marked_ps_ = pacer_.now(vcpu);
  marked_host_ns_ = host_ns;
}

std::string Lab::dump(int vcpu, int tag, std::uint64_t host_ns, double host_load) const {
  const Interconnect& net = memory_.interconnect();
  OrderedJson json{{"simulated_machine", machine_.name},
                   {"label", label_},
                   {"tag", tag},
                   {"simulated_s", static_cast<double>(pacer_.now(vcpu) - marked_ps_) / 1e12},
                   {"host_s", static_cast<double>(host_ns - marked_host_ns_) / 1e9},
                   {"host_load", host_load}};
  Counters all;
  std::vector<Counters> llcs(static_cast<std::size_t>(machine_.llcs()));
  for (int i = 0; i < machine_.vcpus(); ++i) {
    const auto llc = static_cast<std::size_t>(machine_.llc_of(machine_.core_of(i)));
    llcs[llc] += pacer_.counters(i);
    all += pacer_.counters(i);
  }
  json["all"] = to_json(all);
  for (int i = 0; i < machine_.llcs(); ++i) {
    OrderedJson llc{{"node", machine_.node_of(i)}};
    llc.update(to_json(llcs[static_cast<std::size_t>(i)]));
    llc["port_in"] = to_json(net.port_in(i));
    llc["port_out"] = to_json(net.port_out(i));
    json["llcs"].push_back(llc);
  }
  for (int i = 0; i < machine_.nodes; ++i)
    json["controllers"].push_back(to_json(net.controller(i)));
  json["links"] = OrderedJson::array();
  for (int i = 0; i < static_cast<int>(machine_.links.size()) * 2; ++i) {
    const Link& link = machine_.links[static_cast<std::size_t>(i / 2)];
    OrderedJson entry{{"from", i % 2 ? link.b : link.a}, {"to", i % 2 ? link.a : link.b}};
    entry.update(to_json(net.link(i)));
    json["links"].push_back(entry);
  }
  return json.dump();
}

}  // namespace numalab
