// SPDX-License-Identifier: Apache-2.0
#include "mapcore/map/cost_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace ondeloc {
namespace {

constexpr const char* kDerivedLinks = "bandwidth of the node / relative distance";
constexpr const char* kBytesOfLines = "latency of 64 bytes / 7";

using Latencies = std::array<double, kDomainCount>;

constexpr double kDefaultBandwidth = 20e9;  // of a node with one last-level cache
// The bandwidth of a node for each of its last-level caches: 8 channels of DDR4-3200 over 8 caches
// (EPYC 7003).
constexpr double kBandwidthOfCache = 25.6e9;
// The bandwidth from a last-level cache to the rest of the chip: AMD's 36 GB/s of EPYC 7002 and
// 7003, as a share of kBandwidthOfCache.
constexpr double kPortShare = 36.0 / 25.6;
constexpr double kLocalDistance = 10;
constexpr double kRemoteDistance = 21;
constexpr double kCacheLine = 64;  // bytes; of a message if nothing tells its latency
// Cache lines of a message that are on their way at once: a byte takes the latency of a line over
// so many lines. Seen between two ranks of Open MPI on four simulated machines: 7.2 to 7.5 with
// 64 KiB, 4.2 with 3 KiB, and 4.7 to 5.9 on narrow links (etc/doc/cost-model.md).
constexpr double kLinesUnderWay = 7;

// The one-way time of one cache line in seconds: half the round trip of a compare-and-swap between
// two cores, medians of public measurements (etc/doc/cost-model.md). Order: core, L2, LLC, node,
// package, machine.
constexpr Latencies kOneCachePackage = {8e-9, 48e-9, 48e-9, 60e-9, 60e-9, 141e-9};     // Intel Xeon
constexpr Latencies kManyCachePackage = {9e-9, 24e-9, 24e-9, 108e-9, 117e-9, 200e-9};  // AMD EPYC

// True if one package has several last-level caches: a chip made of chiplets.
bool has_chiplets(const Machine& machine) {
  std::map<int, std::set<std::pair<int, int>>> caches;  // of each package
  for (const Pu& pu : machine.pus) {
    if (machine.llcs[pu.llc.value].level == Level::kNuma) continue;
    auto& known = caches[machine.seat_of(pu).package];
    known.insert({pu.at(Level::kL3), pu.at(Level::kL3) < 0 ? pu.at(Level::kL2) : -1});
    if (known.size() > 1) return true;
  }
  return false;
}

bool has_bandwidths(const Machine& machine) {
  return std::all_of(machine.nodes.begin(), machine.nodes.end(),
                     [](const NumaNode& node) { return node.bandwidth > 0; });
}

// True if each pair of nodes has a number.
bool is_complete(const std::vector<double>& square) {
  return !square.empty() &&
         std::all_of(square.begin(), square.end(), [](double value) { return value > 0; });
}

// Builds the constants of one machine, source by source.
class Builder {
 public:
  Builder(const Machine& machine, const CostOverrides& overrides)
      : machine_(machine),
        whole_(machine.whole()),
        overrides_(overrides),
        n_(machine.nodes.size()),
        has_chiplets_(has_chiplets(whole_)) {}

  CostModel build() {
    model_.nodes = static_cast<int>(n_);
    model_.llcs = static_cast<int>(machine_.llcs.size());
    const bool counts_time = model_.llcs > 1 || measured() != nullptr;
    model_.weight = overrides_.weight.value_or(counts_time ? Weight::kTime : Weight::kBytes);
    for (const Llc& llc : machine_.llcs) model_.node_of_llc.push_back(llc.node.value);
    find_seats();
    set_bandwidth();
    set_links();
    set_ports();
    set_latency();
    set_costs();
    if (overrides_.adapters) model_.adapters = nearest_adapters(machine_, model_.penalty);
    return std::move(model_);
  }

 private:
  const MachineFile* measured() const { return overrides_.measured; }

  // Finds one seat in each last-level cache, and whether a core, an L2 or a last-level cache is the
  // smallest domain of two PUs.
  void find_seats() {
    seats_.resize(machine_.llcs.size());
    std::map<int, int> threads, cores_of_l2;
    std::map<int, std::set<int>> parts_of_llc;  // L2s, and cores without one as negative numbers
    std::set<int> cores;
    for (const Pu& pu : machine_.pus) {
      const Seat seat = machine_.seat_of(pu);
      seats_[pu.llc.value] = seat;
      shares_core_ = shares_core_ || (seat.core >= 0 && ++threads[seat.core] > 1);
      if (seat.core >= 0 && !cores.insert(seat.core).second) continue;
      shares_l2_ = shares_l2_ || (seat.l2 >= 0 && ++cores_of_l2[seat.l2] > 1);
      auto& parts = parts_of_llc[seat.llc.value];
      parts.insert(seat.l2 >= 0 ? seat.l2 : -1 - static_cast<int>(cores.size()));
      shares_llc_ = shares_llc_ || parts.size() > 1;
    }
  }

  // Number of last-level caches of the node in the whole machine, at least 1. A step on a part of
  // the node has the node's memory controllers all the same.
  double caches_of(std::size_t node) const {
    const int os = machine_.nodes[node].os;
    return static_cast<double>(std::max<std::ptrdiff_t>(
        1, std::count_if(whole_.llcs.begin(), whole_.llcs.end(),
                         [&](const Llc& llc) { return whole_.nodes[llc.node].os == os; })));
  }
  double default_bandwidth(std::size_t node) const {
    const double caches = caches_of(node);
    return caches > 1 && has_chiplets_ ? caches * kBandwidthOfCache : kDefaultBandwidth;
  }

  double measured_node(int os) const {
    for (const MeasuredNode& node : measured()->nodes)
      if (node.os == os) return node.shared > 0 ? node.shared : node.alone;
    return 0;
  }
  bool measured_all_nodes() const {
    return measured() != nullptr &&
           std::all_of(machine_.nodes.begin(), machine_.nodes.end(),
                       [this](const NumaNode& node) { return measured_node(node.os) > 0; });
  }

  void set_bandwidth() {
    const bool by_file = !overrides_.bandwidth && measured_all_nodes();
    bandwidth_by_hwloc_ = !overrides_.bandwidth && !by_file && has_bandwidths(machine_);
    model_.bandwidth_source = overrides_.bandwidth  ? "option"
                              : by_file             ? measured()->source()
                              : bandwidth_by_hwloc_ ? "hwloc"
                                                    : "default";
    for (std::size_t k = 0; k < n_; ++k) {
      const NumaNode& node = machine_.nodes[k];
      model_.bandwidth.push_back(overrides_.bandwidth  ? *overrides_.bandwidth
                                 : by_file             ? measured_node(node.os)
                                 : bandwidth_by_hwloc_ ? node.bandwidth
                                                       : default_bandwidth(k));
    }
  }

  bool has_hwloc_distances(const Machine& machine) const {
    return !overrides_.remote_distance && is_complete(machine.distances);
  }
  // Returns d_kl / d_local, row-major; d_local is the distance of node k to itself.
  std::vector<double> distance_ratios(const Machine& machine) const {
    const std::size_t n = machine.nodes.size();
    const bool by_hwloc = has_hwloc_distances(machine);
    std::vector<double> ratios(
        n * n, overrides_.remote_distance.value_or(kRemoteDistance) / kLocalDistance);
    for (std::size_t k = 0; k < n; ++k) {
      ratios[k * n + k] = 1;
      for (std::size_t l = 0; by_hwloc && l < n; ++l)
        ratios[k * n + l] =
            std::max(1.0, machine.distances[k * n + l] / machine.distances[k * n + k]);
    }
    return ratios;
  }
  // The distance of two nodes beyond the local one, as a share of the local one, in the worse
  // direction.
  static double penalty_of(const std::vector<double>& ratios, std::size_t n, std::size_t k,
                           std::size_t l) {
    return k == l ? 0 : std::max(ratios[k * n + l], ratios[l * n + k]) - 1;
  }

  // Takes the mean over all pairs of nodes of the whole machine: a latency is one of such a mean
  // pair.
  void set_mean_penalties() {
    const bool knows_whole = is_complete(whole_.distances) || !is_complete(machine_.distances);
    const Machine& machine = knows_whole ? whole_ : machine_;
    const std::vector<double> ratios = distance_ratios(machine);
    const std::size_t n = machine.nodes.size();
    std::array<int, kDomainCount> pairs{};
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t l = 0; l < n; ++l) {
        if (k == l) continue;
        const bool is_near = machine.nodes[k].package == machine.nodes[l].package;
        const auto domain = static_cast<std::size_t>(is_near ? Domain::kPackage : Domain::kMachine);
        mean_penalty_[domain] += penalty_of(ratios, n, k, l);
        ++pairs[domain];
      }
    }
    for (std::size_t d = 0; d < kDomainCount; ++d)
      if (pairs[d] > 0) mean_penalty_[d] /= pairs[d];
  }

  double measured_link(std::size_t k, std::size_t l) const {
    for (const MeasuredLink& link : measured()->links)
      if (link.from == machine_.nodes[k].os && link.to == machine_.nodes[l].os)
        return link.bandwidth;
    return 0;
  }
  bool measured_all_links() const {
    if (measured() == nullptr || n_ < 2) return false;
    for (std::size_t k = 0; k < n_; ++k)
      for (std::size_t l = 0; l < n_; ++l)
        if (k != l && measured_link(k, l) <= 0) return false;
    return true;
  }

  void set_links() {
    const std::vector<double> ratios = distance_ratios(machine_);
    model_.distance_source = overrides_.remote_distance      ? "option"
                             : has_hwloc_distances(machine_) ? "hwloc"
                                                             : "default";
    const bool by_file =
        !overrides_.link_bandwidth && !overrides_.bandwidth && measured_all_links();
    const bool by_hwloc = !by_file && bandwidth_by_hwloc_ && is_complete(machine_.link_bandwidth);
    model_.link_source = overrides_.link_bandwidth ? "option"
                         : by_file                 ? measured()->source()
                         : by_hwloc                ? "hwloc"
                                                   : kDerivedLinks;
    const auto one_way = [&](std::size_t k, std::size_t l) {
      if (overrides_.link_bandwidth) return *overrides_.link_bandwidth;
      if (by_file && k != l) return measured_link(k, l);
      if (by_hwloc) return machine_.link_bandwidth[k * n_ + l];
      return model_.bandwidth[l] / ratios[k * n_ + l];
    };
    model_.link.assign(n_ * n_, 0);
    model_.penalty.assign(n_ * n_, 0);
    for (std::size_t k = 0; k < n_; ++k) {
      for (std::size_t l = 0; l < n_; ++l) {
        model_.link[k * n_ + l] = std::min(one_way(k, l), one_way(l, k));
        model_.penalty[k * n_ + l] = penalty_of(ratios, n_, k, l);
      }
    }
    join_links();
  }

  // The pairs of nodes between two packages share a link. If each pair has a rate of its own, the
  // capacity of the link is what the nodes reach at once: the number of nodes on the smaller side
  // times the mean rate.
  void join_links() {
    std::map<std::pair<int, int>, std::vector<double>> rates;  // of the pairs of each link
    std::map<std::pair<int, int>, int> number;
    std::map<int, int> nodes_of;  // of each package
    for (const NumaNode& node : machine_.nodes) ++nodes_of[node.package];
    model_.link_of.assign(n_ * n_, -1);
    for (std::size_t k = 0; k < n_; ++k) {
      for (std::size_t l = k + 1; l < n_; ++l) {
        const int a = machine_.nodes[k].package, b = machine_.nodes[l].package;
        const int nodes = static_cast<int>(k * n_ + l);
        const auto key = a == b ? std::pair(-1, nodes) : std::pair(std::min(a, b), std::max(a, b));
        const auto [known, is_new] = number.try_emplace(key, static_cast<int>(number.size()));
        if (is_new) model_.link_capacity.push_back(0);
        model_.link_of[k * n_ + l] = model_.link_of[l * n_ + k] = known->second;
        rates[key].push_back(model_.link[k * n_ + l]);
        const double side = a == b ? 1 : std::min(nodes_of[a], nodes_of[b]);
        const auto& all = rates[key];
        double sum = 0;
        for (const double rate : all) sum += rate;
        model_.link_capacity[known->second] = side * sum / static_cast<double>(all.size());
      }
    }
  }

  void set_ports() {
    model_.port_source = "default";
    if (!whole_.splits_nodes()) return;
    const bool by_file = measured() != nullptr && measured()->port_bandwidth > 0;
    if (by_file) model_.port_source = measured()->source();
    for (const int node : model_.node_of_llc) {
      const double share = model_.bandwidth[node] / caches_of(static_cast<std::size_t>(node));
      model_.port.push_back(by_file ? measured()->port_bandwidth : kPortShare * share);
    }
  }

  bool needs(Domain domain) const {
    if (domain == Domain::kCore) return shares_core_;
    if (domain == Domain::kL2) return shares_l2_;
    if (domain == Domain::kLlc) return shares_llc_;
    for (const Seat& a : seats_)
      for (const Seat& b : seats_)
        if (!(a.llc == b.llc) && shared_domain(a, b) == domain) return true;
    return false;
  }

  // Takes the latencies of the file if the file has one for each domain that the machine has.
  void set_latency() {
    latency_by_file_ = measured() != nullptr;
    for (int d = 0; d < kDomainCount && latency_by_file_; ++d)
      latency_by_file_ = !needs(static_cast<Domain>(d)) || measured()->domains[d].latency > 0;
    model_.latency_source = latency_by_file_ ? measured()->source() : "default";
    model_.latency = has_chiplets_ ? kManyCachePackage : kOneCachePackage;
    for (int d = 0; d < kDomainCount && latency_by_file_; ++d)
      model_.latency[d] = measured()->domains[d].latency;
  }

  Domain nearest() const {
    return shares_core_ ? Domain::kCore : shares_l2_ ? Domain::kL2 : Domain::kLlc;
  }
  double latency_over_nearest(Domain domain) const {
    return std::max(0.0, model_.latency[static_cast<std::size_t>(domain)] -
                             model_.latency[static_cast<std::size_t>(nearest())]);
  }

  // If pairs of nodes of one domain have different distances, their latencies are in proportion.
  double latency_between(const Seat& a, const Seat& b) const {
    const Domain domain = shared_domain(a, b);
    const double base = latency_over_nearest(domain);
    if (domain <= Domain::kNode || a.node == b.node) return base;
    const double mean = mean_penalty_[static_cast<std::size_t>(domain)];
    return mean > 0 ? base * penalty_between(a, b) / mean : base;
  }
  double penalty_between(const Seat& a, const Seat& b) const {
    return model_.penalty[static_cast<std::size_t>(a.node.value) * n_ + b.node.value];
  }

  // T without a machine file: the time of a byte follows from the latency of its line.
  double byte_cost_of_lines(const Seat& a, const Seat& b) const {
    const bool by_option = overrides_.remote_distance && !(a.node == b.node);
    const double share =
        by_option ? penalty_between(a, b) / (kRemoteDistance / kLocalDistance - 1) : 1;
    return share * latency_between(a, b) / (kLinesUnderWay * kCacheLine);
  }

  double measured_byte_cost(Domain domain) const {
    const double near = measured()->domain(nearest()).bandwidth;
    const double far = measured()->domain(domain).bandwidth;
    return far > 0 && near > 0 ? std::max(0.0, 1 / far - 1 / near) : 0;
  }

  void set_costs() {
    const std::size_t c = seats_.size();
    set_mean_penalties();
    const bool bytes_by_file = latency_by_file_ && !overrides_.remote_distance &&
                               measured()->domain(nearest()).bandwidth > 0;
    // With one cache, cores and L2 caches alone do not decide where a rank belongs.
    const bool bytes_by_lines = !bytes_by_file && c > 1;
    model_.byte_cost_is_shared = model_.knows_ranks = bytes_by_file || bytes_by_lines;
    model_.byte_source = bytes_by_file ? measured()->source() : kBytesOfLines;
    model_.message_cost.assign(c * c, 0);
    model_.byte_cost.assign(c * c, 0);
    for (std::size_t i = 0; i < c; ++i) {
      for (std::size_t j = 0; j < c; ++j) {
        if (i == j) continue;
        const Seat &a = seats_[i], &b = seats_[j];
        model_.message_cost[i * c + j] = latency_between(a, b);
        model_.byte_cost[i * c + j] =
            bytes_by_file ? measured_byte_cost(shared_domain(a, b)) : byte_cost_of_lines(a, b);
      }
    }
    for (int d = 0; d <= static_cast<int>(Domain::kLlc); ++d) {
      model_.message_cost_inside[d] = latency_over_nearest(static_cast<Domain>(d));
      if (bytes_by_file) model_.byte_cost_inside[d] = measured_byte_cost(static_cast<Domain>(d));
      if (bytes_by_lines)
        model_.byte_cost_inside[d] = model_.message_cost_inside[d] / (kLinesUnderWay * kCacheLine);
    }
  }

  const Machine& machine_;
  const Machine& whole_;
  const CostOverrides& overrides_;
  std::size_t n_;
  bool has_chiplets_;
  std::vector<Seat> seats_;                          // one in each last-level cache
  std::array<double, kDomainCount> mean_penalty_{};  // of two nodes with that smallest domain
  bool shares_core_ = false, shares_l2_ = false, shares_llc_ = false;
  bool bandwidth_by_hwloc_ = false, latency_by_file_ = false;
  CostModel model_;
};

}  // namespace

CostModel CostModel::from(const Machine& machine, const CostOverrides& overrides) {
  return Builder(machine, overrides).build();
}

std::vector<std::pair<std::string, std::string>> CostModel::sources() const {
  std::vector<std::pair<std::string, std::string>> all = {
      {"weight", std::string(enum_name(weight))},
      {"bandwidth", bandwidth_source},
      {"links", link_source},
      {"distance", distance_source},
      {"latency", latency_source},
      {"bytes", byte_source}};
  if (!port.empty()) all.emplace_back("ports", port_source);
  return all;
}

std::string CostModel::numbers() const {
  std::vector<std::string> phrases;
  for (const auto& [kind, source] : sources()) {
    if (kind == "weight" || source == kDerivedLinks || source == kBytesOfLines) continue;
    const std::string phrase = source == "default"  ? "the cost model's defaults"
                               : source == "option" ? "options"
                               : source == "hwloc"  ? "hwloc's numbers"
                                                    : "numbers " + source;
    if (std::find(phrases.begin(), phrases.end(), phrase) == phrases.end())
      phrases.push_back(phrase);
  }
  return fmt::format("{}", fmt::join(phrases, " and "));
}

double CostModel::byte_cost_to_node(LlcIndex llc, int node) const {
  const int own = node_of_llc[llc.value];
  if (own == node) return 0;
  double here = byte_cost_inside[static_cast<std::size_t>(Domain::kLlc)], there = -1;
  for (int c = 0; c < llcs; ++c) {
    const double cost = byte_cost[at(llc, LlcIndex(c))];
    if (node_of_llc[c] == own && c != llc.value) here = cost;
    if (node_of_llc[c] == node && (there < 0 || cost < there)) there = cost;
  }
  return std::max(0.0, there - here);
}

double CostModel::byte_factor(int ranks) const {
  if (weight == Weight::kMessages) return 0;
  return byte_cost_is_shared ? 1.0 / std::max(1, ranks) : 1;
}

double CostModel::message_factor(int ranks) const {
  return weight == Weight::kBytes ? 0 : 1.0 / std::max(1, ranks);
}

double CostModel::message_bytes(int ranks) const {
  if (weight == Weight::kBytes) return 0;
  if (weight == Weight::kMessages) return kCacheLine;
  double messages = 0, bytes = 0;
  for (std::size_t at = 0; at < byte_cost.size(); ++at) {
    const std::size_t c = at / static_cast<std::size_t>(llcs),
                      d = at % static_cast<std::size_t>(llcs);
    if (nodes > 1 && node_of_llc[c] == node_of_llc[d]) continue;
    messages += message_factor(ranks) * message_cost[at];
    bytes += byte_factor(ranks) * byte_cost[at];
  }
  return bytes > 0 ? messages / bytes : kCacheLine;
}

double CostModel::amount_cost(int k, int l, int ranks) const {
  const auto first_of = [this](int node) {
    return static_cast<int>(std::find(node_of_llc.begin(), node_of_llc.end(), node) -
                            node_of_llc.begin());
  };
  return amount_cost_between(first_of(k), first_of(l), ranks);
}

double CostModel::amount_cost_between(int llc, int other, int ranks) const {
  const std::size_t here = at(LlcIndex(llc), LlcIndex(other));
  if (weight == Weight::kMessages)
    return message_factor(ranks) * message_cost[here] / message_bytes(ranks);
  return byte_factor(ranks) * byte_cost[here];
}

std::optional<Traffic> CostModel::amounts(const Traffic& traffic) const {
  const bool are_bytes =
      weight == Weight::kBytes || (weight == Weight::kTime && traffic.total_messages() == 0);
  if (are_bytes && !traffic.has_empty_edges()) return std::nullopt;
  return traffic.weighed(byte_weight(), message_bytes(traffic.ranks()));
}

}  // namespace ondeloc
