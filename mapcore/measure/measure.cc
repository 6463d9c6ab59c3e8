// SPDX-License-Identifier: Apache-2.0
#include "mapcore/measure/measure.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <utility>

#include "mapcore/base/quantity.h"

namespace ondeloc {
namespace {

constexpr std::size_t kPairsOfDomain = 3;
constexpr std::size_t kPairsOfDistances = 6;  // of a domain with several distances

// Shares of the budget. Messages end early if they are stable; then more is left for the memory.
constexpr double kEndOfMessages = 2.0 / 3;
constexpr double kEndOfMemory = 0.95;  // then memory is freed and the file written
constexpr double kUsualMessages = 1.0 / 3;
constexpr double kUsualOneCore = 1.0 / 30;  // seconds of reading, without the first touch
constexpr double kUsualOneCache = 1.0 / 30;
constexpr double kUsualAllNodes = 2.0 / 30;
constexpr double kUsualEachNode = 2.0 / 30;
constexpr double kUsualLinks = 4.0 / 30;
// A step gets at most this share of the time that is left, so that it leaves time to the next.
constexpr double kMostOfLeft = 0.5;
constexpr double kLeastOfUsual = 0.25;  // of the usual time; with less a figure is left out
constexpr double kEnoughOfUsual = 0.5;  // with less a figure is less sure

constexpr std::array kHomes{HomeOf::kSender, HomeOf::kReceiver};
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

// Tells why the CPUs of a node get no memory of it, or "". The kernel then takes memory of another
// node for them, and the rate of that memory would be written as the one of this node. Boards may
// have memory for some nodes only.
std::string lack_of_memory(const NumaNode& node, const MeasureOptions& options) {
  if (!options.may_use_memory(node.os))
    return fmt::format(
        "the cgroup here has no memory of NUMA node {} (cpuset.mems), so the bandwidth of the node "
        "and the links to it were not measured",
        node.os);
  if (node.memory == 0 && options.free_on(node.os) == std::uint64_t{0})
    return fmt::format(
        "NUMA node {} has no memory, so its bandwidth and the links to it were not measured",
        node.os);
  return "";
}

Machine nodes_with_memory(const Machine& machine, const MeasureOptions& options) {
  CpuSet pus;
  for (const NumaNode& node : machine.nodes)
    if (lack_of_memory(node, options).empty()) pus |= node.pus;
  return restrict_machine(machine, pus);
}

double distance_of(const Machine& machine, NodeIndex from, NodeIndex to) {
  if (machine.distances.empty()) return 0;
  return machine.distances[static_cast<std::size_t>(from.value) * machine.nodes.size() +
                           static_cast<std::size_t>(to.value)];
}

using NodePair = std::pair<NodeIndex, NodeIndex>;

// A link of each kind first: inside a package or not, and of each distance.
std::vector<NodePair> links_in_order(const Machine& machine) {
  std::set<std::pair<bool, double>> kinds;
  std::vector<NodePair> links, others;
  for (const NodeIndex from : machine.nodes.ids()) {
    for (const NodeIndex to : machine.nodes.ids()) {
      if (from == to) continue;
      const bool inside = machine.nodes[from].package == machine.nodes[to].package;
      (kinds.emplace(inside, distance_of(machine, from, to)).second ? links : others)
          .emplace_back(from, to);
    }
  }
  links.insert(links.end(), others.begin(), others.end());
  return links;
}

// Calls `use` with each pair of different PUs whose smallest common domain this is.
template <typename Use>
void for_each_pair(const Machine& machine, const std::vector<const Pu*>& pus, Domain domain,
                   Use use) {
  for (std::size_t i = 0; i < pus.size(); ++i) {
    const Seat seat = machine.seat_of(*pus[i]);
    for (std::size_t j = i + 1; j < pus.size(); ++j) {
      const NodeIndex from = pus[i]->node, to = pus[j]->node;
      if (shared_domain(seat, machine.seat_of(*pus[j])) != domain) continue;
      use(PuPair{pus[i]->os, pus[j]->os,
                 (distance_of(machine, from, to) + distance_of(machine, to, from)) / 2});
    }
  }
}

// The model takes a figure of a domain as the mean over its pairs, and scales it by the distance.
// So each distance counts as often as it was measured, and its median keeps strays out.
class ByDistance {
 public:
  void add(double distance, double value) { samples_[distance].add(value); }
  bool empty() const { return samples_.empty(); }
  double middle() const {
    double sum = 0, count = 0;
    for (const auto& [distance, samples] : samples_) {
      const auto times = static_cast<double>(samples.size());
      sum += times * samples.median();
      count += times;
    }
    return count > 0 ? sum / count : 0;
  }

 private:
  std::map<double, Samples> samples_;
};

std::string date_today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday);
}

class Measurement {
 public:
  Measurement(const Machine& whole, const Machine& machine, const MeasureOptions& options)
      : whole_(whole),
        machine_(machine),
        options_(options),
        budget_(options.seconds, options.instruments.now),
        with_memory_(nodes_with_memory(machine, options)),
        cores_(one_of_each_core(with_memory_)) {}

  Result<MachineFile> run() {
    describe();
    note_load();
    note_quota();
    note_cores_left_out();
    if (Status good = measure_domains(); !good) return std::move(good).error();
    note_scatter();
    if (Status good = measure_memory(); !good) return std::move(good).error();
    note_lack_of_time();
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
  }

  void note_load() {
    const auto load = options_.instruments.load();
    const std::size_t cpus = machine_.pus.size();
    if (!load || *load <= kBusyLoad * static_cast<double>(cpus)) return;
    file_.busy = true;
    file_.notes.push_back(
        fmt::format("before the measurement the load was {:.1f}, and {} CPUs may be used here; "
                    "measure again on an idle node",
                    *load, cpus));
  }

  // Under a quota the kernel stops all threads until the next period, also on an idle node.
  void note_quota() {
    const std::size_t at_once = std::max<std::size_t>(2, cores_.size());  // messages take two
    const auto quota = options_.cpu_quota;
    if (!quota || *quota >= static_cast<double>(at_once)) return;
    file_.busy = true;
    file_.notes.push_back(fmt::format(
        "the cgroup here has a CPU quota of {:.3g}, and {} CPUs are measured at once, so latencies "
        "can be too high and bandwidths too low; measure without this quota (cpu.max)",
        *quota, at_once));
  }

  // Other programs are not the only cause, so the sentence does not say that there were some.
  void note_scatter() {
    if (worst_spread_ <= kNoisy) return;
    file_.busy = true;
    file_.notes.push_back(
        fmt::format("the times of messages between CPUs {} and {} scattered by {}, which other "
                    "programs or the hypervisor of a virtual machine can cause; measure again, and "
                    "compare the two files before you use one",
                    worst_pair_.a.value, worst_pair_.b.value, percent_text(worst_spread_)));
  }

  void keep_worst(const PuPair& pair, double spread) {
    if (spread <= worst_spread_) return;
    worst_pair_ = pair;
    worst_spread_ = spread;
  }

  void note_cores_left_out() {
    const std::size_t all = one_of_each_core(whole_).size();
    const std::size_t used = one_of_each_core(machine_).size();
    if (used < all)
      file_.notes.push_back(
          fmt::format("only {} of {} cores of this node may be used here, so bandwidths of memory "
                      "can be too low; measure with all CPUs of the node, such as with srun -N1 "
                      "--exclusive",
                      used, all));
  }

  Status measure_domains() {
    std::vector<std::vector<PuPair>> pairs;
    for (int d = 0; d < kDomainCount; ++d) {
      pairs.push_back(pairs_of_domain(machine_, static_cast<Domain>(d)));
      pair_steps_ += kHomes.size() * pairs.back().size();
    }
    usual_pair_ = budget_.part(kUsualMessages) / static_cast<double>(pair_steps_);
    for (int d = 0; d < kDomainCount; ++d) {
      if (pairs[d].empty()) continue;
      if (Status good = measure_domain(static_cast<Domain>(d), pairs[d]); !good) return good;
    }
    return {};
  }

  // The seconds of the next pair: the usual ones, or fewer if the pairs before took too long.
  double next_pair_seconds() {
    const double limit =
        budget_.left_until(kEndOfMessages) / static_cast<double>(pair_steps_--) / kPairLimit;
    return limit < kLeastOfUsual * usual_pair_ ? 0 : std::min(usual_pair_, limit);
  }

  Status measure_domain(Domain domain, const std::vector<PuPair>& pairs) {
    const std::string what = fmt::format("messages inside one {}", domain_name(domain));
    options_.progress(what);
    ByDistance latency, bandwidth, other;
    for (const PuPair& pair : pairs) {
      for (const HomeOf home : kHomes) {
        const double seconds = next_pair_seconds();
        count(what, 1, seconds > 0 ? 0 : 1);
        if (seconds <= 0) continue;
        const auto result = options_.instruments.pair(pair.a, pair.b, home, seconds);
        if (!result)
          return Error(fmt::format("CPUs {} and {}: {}", pair.a.value, pair.b.value,
                                   result.error().message()));
        keep_worst(pair, result->spread);
        if (!result->is_stable) count(what).is_unsure = true;
        (home == HomeOf::kSender ? latency : other).add(pair.distance, result->times.latency);
        if (home == HomeOf::kSender) bandwidth.add(pair.distance, result->times.bandwidth);
      }
    }
    if (latency.empty()) return {};
    if (latency.middle() <= 0 || latency.middle() > kMostLatency)
      return Error(fmt::format(
          "a message between CPUs {} and {} took {}, more than on any idle node; measure when the "
          "node is idle",
          pairs.front().a.value, pairs.front().b.value, seconds_text(latency.middle())));
    file_.domains[static_cast<std::size_t>(domain)] = {latency.middle(), bandwidth.middle(),
                                                       other.middle()};
    return {};
  }

  // The cores of a node, or of one cache of it, each with memory of its own node.
  std::vector<Reader> readers_of(NodeIndex node, LlcIndex llc = LlcIndex(-1)) const {
    std::vector<Reader> readers;
    for (const Pu* pu : cores_)
      if (pu->node == node && (llc.value < 0 || pu->llc == llc))
        readers.push_back({pu->os, pu->os});
    return readers;
  }

  // Inside an allocation one cache may have few of its cores, and another all.
  std::vector<Reader> readers_of_fullest_cache() const {
    std::vector<Reader> most;
    for (const LlcIndex llc : with_memory_.llcs.ids()) {
      std::vector<Reader> readers = readers_of(with_memory_.llcs[llc].node, llc);
      if (readers.size() > most.size()) most = std::move(readers);
    }
    return most;
  }

  std::vector<Reader> readers_of_all() const {
    std::vector<Reader> readers;
    for (const Pu* pu : cores_) readers.push_back({pu->os, pu->os});
    return readers;
  }

  // The cores of `from` with memory of `to`, which the CPUs of `to` touch side by side: one CPU
  // alone takes seconds for the buffers of a large node.
  std::vector<Reader> readers_over(NodeIndex from, NodeIndex to) const {
    std::vector<Reader> readers = readers_of(from);
    const std::vector<PuOs> homes = with_memory_.nodes[to].pus.to_vector();
    for (std::size_t i = 0; i < readers.size(); ++i) readers[i].home = homes[i % homes.size()];
    return readers;
  }

  using Rates = std::vector<double>;
  struct MemoryStep {
    std::string what;  // for the user; several steps may be one thing
    std::vector<Reader> readers;
    double usual = 0;  // seconds of reading
    std::function<void(const Rates&)> keep;
  };

  static double sum_of(const Rates& rates) {
    return std::accumulate(rates.begin(), rates.end(), 0.0);
  }

  // Steps that tell most for their time come first: those at the end may be left out.
  std::vector<MemoryStep> memory_steps() {
    std::vector<MemoryStep> steps;
    steps.push_back({"memory from one core",
                     {{cores_.front()->os, cores_.front()->os}},
                     budget_.part(kUsualOneCore),
                     [this](const Rates& rates) { file_.core_bandwidth = sum_of(rates); }});
    if (whole_.splits_nodes())
      steps.push_back({"memory from one cache", readers_of_fullest_cache(),
                       budget_.part(kUsualOneCache),
                       [this](const Rates& rates) { file_.port_bandwidth = sum_of(rates); }});
    steps.push_back({"memory of all NUMA nodes at once", readers_of_all(),
                     budget_.part(kUsualAllNodes), [this](const Rates& rates) {
                       for (std::size_t i = 0; i < rates.size(); ++i)
                         file_.nodes[cores_[i]->node.value].shared += rates[i];
                     }});
    const double each =
        budget_.part(kUsualEachNode) / static_cast<double>(with_memory_.nodes.size());
    for (const NodeIndex k : with_memory_.nodes.ids())
      steps.push_back(
          {"memory of each NUMA node", readers_of(k), each, [this, k](const Rates& rates) {
             file_.nodes[static_cast<std::size_t>(k.value)].alone = sum_of(rates);
           }});
    add_link_steps(steps);
    return steps;
  }

  void add_link_steps(std::vector<MemoryStep>& steps) {
    std::vector<NodePair> links = links_in_order(with_memory_);
    const std::string what = "links between NUMA nodes";
    if (links.size() > kMaxMachineFileObjects) {
      const std::size_t more = links.size() - kMaxMachineFileObjects;
      count(what, more, more);
      links.resize(kMaxMachineFileObjects);
    }
    const double each = budget_.part(kUsualLinks) / static_cast<double>(links.size());
    for (const auto& [from, to] : links) {
      steps.push_back(
          {what, readers_over(from, to), each, [this, from = from, to = to](const Rates& rates) {
             file_.links.push_back(
                 {with_memory_.nodes[from].os, with_memory_.nodes[to].os, sum_of(rates)});
           }});
    }
  }

  void note_nodes_without_memory() {
    for (const NumaNode& node : machine_.nodes)
      if (const std::string lack = lack_of_memory(node, options_); !lack.empty())
        file_.notes.push_back(lack);
  }

  Status measure_memory() {
    note_nodes_without_memory();
    if (cores_.empty()) return {};
    for (const NumaNode& node : with_memory_.nodes) file_.nodes.push_back({node.os, 0, 0});
    const std::vector<MemoryStep> steps = memory_steps();
    double usual_left = 0;
    for (const MemoryStep& step : steps) usual_left += step.usual;
    const std::string* told = nullptr;
    for (const MemoryStep& step : steps) {
      if (told == nullptr || *told != step.what) options_.progress(step.what);
      told = &step.what;
      if (Status good = measure_step(step, usual_left); !good) return good;
      usual_left -= step.usual;
    }
    std::erase_if(file_.nodes,
                  [](const MeasuredNode& node) { return node.alone <= 0 && node.shared <= 0; });
    return {};
  }

  // If time is short, all steps that are left read for a shorter time.
  Status measure_step(const MemoryStep& step, double usual_left) {
    const double limit = kMostOfLeft * budget_.left_until(kEndOfMemory);
    const double share = std::clamp(limit / usual_left, kLeastOfUsual, 1.0);
    const double seconds = share * step.usual;
    Rates rates;
    if (limit > seconds) {
      const auto bytes =
          buffer_size(machine_, step.readers, options_.free_on, options_.free_in_cgroup);
      if (!bytes) return bytes.error();
      auto read = options_.instruments.reads(step.readers, *bytes, {seconds, limit});
      if (!read) return std::move(read).error();
      rates = *std::move(read);
    }
    count(step.what, 1, rates.empty() ? 1 : 0);
    if (rates.empty()) return {};
    if (share < kEnoughOfUsual) count(step.what).is_unsure = true;
    step.keep(rates);
    return {};
  }

  struct Count {
    std::string what;
    std::size_t steps = 0, left_out = 0;
    bool is_unsure = false;  // fewer repeats than usual, or not stable after them
  };
  Count& count(const std::string& what, std::size_t steps = 0, std::size_t left_out = 0) {
    auto known = std::find_if(counts_.begin(), counts_.end(),
                              [&](const Count& each) { return each.what == what; });
    if (known == counts_.end()) known = counts_.insert(known, {what});
    known->steps += steps;
    known->left_out += left_out;
    return *known;
  }

  void note_lack_of_time() {
    std::vector<std::string> left_out, unsure;
    for (const Count& each : counts_) {
      if (each.left_out > 0)
        left_out.push_back(fmt::format("{} ({} of {})", each.what, each.left_out, each.steps));
      if (each.is_unsure) unsure.push_back(each.what);
    }
    if (!left_out.empty())
      file_.notes.push_back(fmt::format("time was too short for: {}; measure with more --seconds",
                                        fmt::join(left_out, ", ")));
    if (!unsure.empty())
      file_.notes.push_back(
          fmt::format("time was too short to repeat until stable: {}; measure on an idle node or "
                      "with more --seconds",
                      fmt::join(unsure, ", ")));
  }

  const Machine& whole_;
  const Machine& machine_;
  const MeasureOptions& options_;
  const TimeBudget budget_;
  const Machine with_memory_;     // only the nodes that have some
  std::vector<const Pu*> cores_;  // a PU of each core of these
  std::size_t pair_steps_ = 0;    // that are left
  double usual_pair_ = 0;         // seconds
  PuPair worst_pair_{};
  double worst_spread_ = 0;  // of the latencies of this pair
  std::vector<Count> counts_;
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
  std::map<double, std::size_t> pairs_at;  // each distance
  for_each_pair(machine, pus, domain, [&](const PuPair& pair) { ++pairs_at[pair.distance]; });
  std::size_t all = 0;
  for (auto& [distance, count] : pairs_at) all += std::exchange(count, all);
  const std::size_t wanted =
      std::min(all, pairs_at.size() > 1 ? kPairsOfDistances : kPairsOfDomain);
  // One pair out of each of as many equal parts, in the order of the distances. It is drawn,
  // because equal steps can meet the same second CPU each time; every measurement draws the same
  // pairs.
  std::minstd_rand draw;
  std::set<std::size_t> places;
  for (std::size_t k = 0; k < wanted; ++k) {
    const std::size_t begin = k * all / wanted, end = (k + 1) * all / wanted;
    places.insert(begin + draw() % (end - begin));
  }
  std::vector<PuPair> found;
  for_each_pair(machine, pus, domain, [&](const PuPair& pair) {
    if (places.contains(pairs_at[pair.distance]++)) found.push_back(pair);
  });
  return found;
}

Result<MachineFile> measure_machine(const Machine& whole, const Machine& machine,
                                    const MeasureOptions& options) {
  return Measurement(whole, machine, options).run();
}

}  // namespace ondeloc
