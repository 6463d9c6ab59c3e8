// SPDX-License-Identifier: Apache-2.0
#include "mapcore/measure/measure.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <map>

#include "mapcore/base/quantity.h"
#include "mapcore/measure/memory_rate.h"
#include "mapcore/measure/ping_pong.h"
#include "mapcore/measure/timing.h"

namespace ondeloc {
namespace {

constexpr std::size_t kPairsOfDomain = 3;
constexpr std::size_t kMostLinks = 64;  // pairs of nodes, both directions
constexpr double kNoisy = 0.25;         // spread of the latencies
constexpr double kMostLatency = 20e-6;  // seconds: the node was busy all the time
constexpr double kBusyLoad = 0.5;       // of the CPUs, before the measurement

// One PU of each core.
std::vector<const Pu*> one_of_each_core(const Machine& machine) {
  std::map<int, bool> seen;
  std::vector<const Pu*> pus;
  for (const Pu& pu : machine.pus) {
    const int core = pu.at(Level::kCore);
    if (core < 0 || seen.try_emplace(core, true).second) pus.push_back(&pu);
  }
  return pus;
}

std::string date_today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

class Measurement {
 public:
  Measurement(const Machine& whole, const Machine& machine, const MeasureOptions& options)
      : whole_(whole), machine_(machine), options_(options), cores_(one_of_each_core(machine)) {}

  Result<MachineFile> run() {
    describe();
    if (Status good = measure_domains(); !good) return std::move(good).error();
    if (Status good = measure_memory(); !good) return std::move(good).error();
    return std::move(file_);
  }

 private:
  void describe() {
    utsname system{};
    uname(&system);
    file_.date = date_today();
    file_.host = system.nodename;
    file_.kernel = system.release;
    file_.cpu = whole_.model;
    file_.cpus = static_cast<int>(whole_.pus.size());
    file_.llcs = static_cast<int>(whole_.llcs.size());
    file_.packages = count_packages(whole_);
    file_.numa_nodes = static_cast<int>(whole_.nodes.size());
    double load = 0;
    const bool known = getloadavg(&load, 1) == 1;
    file_.busy = known && load > kBusyLoad * static_cast<double>(machine_.pus.size());
  }

  // Half of the time for the pairs.
  Status measure_domains() {
    std::vector<std::vector<PuPair>> pairs;
    std::size_t all = 0;
    for (int d = 0; d < kDomainCount; ++d) {
      pairs.push_back(pairs_of_domain(machine_, static_cast<Domain>(d)));
      all += pairs.back().size();
    }
    const double each = options_.seconds / 4 / static_cast<double>(std::max<std::size_t>(1, all));
    for (int d = 0; d < kDomainCount; ++d) {
      if (pairs[d].empty()) continue;
      const auto domain = static_cast<Domain>(d);
      options_.progress(fmt::format("messages inside one {}", domain_name(domain)));
      if (Status good = measure_domain(domain, pairs[d], each); !good) return good;
    }
    return {};
  }

  Status measure_domain(Domain domain, const std::vector<PuPair>& pairs, double seconds) {
    Samples latency, bandwidth, other;
    for (const PuPair& pair : pairs) {
      for (const HomeOf home : {HomeOf::kSender, HomeOf::kReceiver}) {
        const auto result = measure_pair(pair.a, pair.b, home, seconds);
        if (!result)
          return Error(fmt::format("CPUs {} and {}: {}", pair.a.value, pair.b.value,
                                   result.error().message()));
        if (result->spread > kNoisy) file_.busy = true;
        (home == HomeOf::kSender ? latency : other).add(result->times.latency);
        if (home == HomeOf::kSender) bandwidth.add(result->times.bandwidth);
      }
    }
    if (latency.median() <= 0 || latency.median() > kMostLatency)
      return Error(fmt::format(
          "a message between CPUs {} and {} took {}, more than on any idle node; measure when the "
          "node is idle",
          pairs.front().a.value, pairs.front().b.value, seconds_text(latency.median())));
    file_.domains[static_cast<std::size_t>(domain)] = {latency.median(), bandwidth.median(),
                                                       other.median()};
    return {};
  }

  std::vector<Reader> readers_of(NodeIndex node, PuOs home, LlcIndex llc = LlcIndex(-1)) const {
    std::vector<Reader> readers;
    for (const Pu* pu : cores_)
      if (pu->node == node && (llc.value < 0 || pu->llc == llc))
        readers.push_back({pu->os, home.value < 0 ? pu->os : home});
    return readers;
  }

  Result<std::vector<double>> rates_of(const std::vector<Reader>& readers, double seconds) const {
    const auto bytes = buffer_size(machine_, readers, options_.free_on);
    if (!bytes) return bytes.error();
    return measure_reads(readers, *bytes, seconds);
  }

  Result<double> rate_of(const std::vector<Reader>& readers, double seconds) const {
    auto rates = rates_of(readers, seconds);
    if (!rates) return std::move(rates).error();
    double sum = 0;
    for (const double rate : *rates) sum += rate;
    return sum;
  }

  Status measure_memory() {
    const double part = options_.seconds / 10;
    const double each = part / static_cast<double>(machine_.nodes.size());
    options_.progress("memory of each NUMA node");
    for (const NodeIndex k : machine_.nodes.ids()) {
      const auto alone = rate_of(readers_of(k, PuOs(-1)), each);
      if (!alone) return Error(alone.error());
      file_.nodes.push_back({machine_.nodes[k].os, *alone, 0});
    }
    if (Status good = measure_all_at_once(part); !good) return good;
    if (Status good = measure_links(2 * part); !good) return good;
    return measure_port(part / 2);
  }

  Status measure_all_at_once(double seconds) {
    options_.progress("memory of all NUMA nodes at once");
    std::vector<Reader> readers;
    for (const Pu* pu : cores_) readers.push_back({pu->os, pu->os});
    const auto rates = rates_of(readers, seconds);
    if (!rates) return Error(rates.error());
    for (std::size_t i = 0; i < readers.size(); ++i)
      file_.nodes[cores_[i]->node.value].shared += (*rates)[i];
    return {};
  }

  Status measure_links(double seconds) {
    const std::size_t n = machine_.nodes.size();
    if (n < 2 || n * (n - 1) > kMostLinks) return {};
    options_.progress("links between NUMA nodes");
    const double each = seconds / static_cast<double>(n * (n - 1));
    for (const NodeIndex from : machine_.nodes.ids()) {
      for (const NodeIndex to : machine_.nodes.ids()) {
        if (from == to) continue;
        const auto rate = rate_of(readers_of(from, PuOs(machine_.nodes[to].pus.first())), each);
        if (!rate) return Error(rate.error());
        file_.links.push_back({machine_.nodes[from].os, machine_.nodes[to].os, *rate});
      }
    }
    return {};
  }

  Status measure_port(double seconds) {
    options_.progress("memory from one core and from one cache");
    const auto one = rate_of({{cores_.front()->os, cores_.front()->os}}, seconds);
    if (!one) return Error(one.error());
    file_.core_bandwidth = *one;
    if (!machine_.splits_nodes()) return {};
    const Llc& first = machine_.llcs.front();
    const auto port = rate_of(readers_of(first.node, PuOs(-1), LlcIndex(0)), seconds);
    if (!port) return Error(port.error());
    file_.port_bandwidth = *port;
    return {};
  }

  const Machine& whole_;
  const Machine& machine_;
  const MeasureOptions& options_;
  std::vector<const Pu*> cores_;
  MachineFile file_;
};

}  // namespace

std::vector<PuPair> pairs_of_domain(const Machine& machine, Domain domain) {
  // Threads of one core for that domain, one PU of each core for all others.
  std::vector<const Pu*> pus = one_of_each_core(machine);
  if (domain == Domain::kCore) {
    pus.clear();
    for (const Pu& pu : machine.pus) pus.push_back(&pu);
  }
  std::vector<PuPair> found;
  for (std::size_t i = 0; i < pus.size(); ++i) {
    const Seat seat = machine.seat_of(*pus[i]);
    for (std::size_t j = i + 1; j < pus.size(); ++j) {
      if (shared_domain(seat, machine.seat_of(*pus[j])) != domain) continue;
      found.push_back({pus[i]->os, pus[j]->os});
      break;  // the next pair starts at another PU
    }
  }
  if (found.size() <= kPairsOfDomain) return found;
  std::vector<PuPair> spread;
  for (std::size_t k = 0; k < kPairsOfDomain; ++k)
    spread.push_back(found[k * (found.size() - 1) / (kPairsOfDomain - 1)]);
  return spread;
}

Result<MachineFile> measure_machine(const Machine& whole, const Machine& machine,
                                    const MeasureOptions& options) {
  return Measurement(whole, machine, options).run();
}

}  // namespace ondeloc
