// SPDX-License-Identifier: Apache-2.0
// Measures time and peak memory for ten million messages: writing the profile, reading it,
// clusters, metrics, mapping.
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "mapcore/map/deloc.h"
#include "mapcore/profile/classify.h"
#include "mapcore/profile/metrics.h"
#include "mapcore/profile/window_matrix.h"
#include "mapcore/topology/load.h"
#include "tests/bench/machine.h"

namespace {

using namespace ondeloc;

constexpr std::uint64_t kEvents = 10'000'000;
constexpr std::uint32_t kRanks = 128;

double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

template <class Work>
auto timed(const char* what, Work work) {
  const auto start = std::chrono::steady_clock::now();
  auto result = work();
  fmt::print("{:<28} {:>9.3f} s   peak {:>7.1f} MiB\n", what, bench::seconds_since(start),
             peak_mib());
  return result;
}

// Makes bursts every 100 ms of a 100 s run, with partners within 8 ranks and sizes over four
// decades.
bool write(const std::string& path) {
  profile_format::FileHeader header;
  header.ranks = header.local_ranks = kRanks;
  header.node = "bench";
  auto writer = ProfileWriter::create(path, header);
  std::mt19937_64 random(1);
  for (std::uint64_t i = 0; i < kEvents; ++i) {
    const std::uint64_t burst = i / (kEvents / 1000);
    const std::uint64_t time = burst * 100'000'000 + random() % 30'000'000;
    const auto src = static_cast<std::uint32_t>(random() % kRanks);
    const auto dst = static_cast<std::uint32_t>((src + 1 + random() % 8) % kRanks);
    if (!writer || !writer->add({time, src, dst, 8ULL << (random() % 14)})) return false;
  }
  return writer->finish().ok();
}

}  // namespace

int main() {
  bench::print_machine();
  const auto path =
      (std::filesystem::temp_directory_path() / fmt::format("ondeloc-bench-{}", getpid())).string();
  fmt::print("{} messages of {} ranks\n", kEvents, kRanks);
  bool good = timed("write", [&] { return write(path); });
  auto profile = timed("open", [&] { return ProfileReader::open(path); });
  if (!good || !profile) return 1;
  fmt::print("{:<28} {:>9.2f} bytes per message\n", "file",
             static_cast<double>(profile->file_octets()) / kEvents);
  const CommMatrix matrix = timed("sum matrix", [&] { return profile_matrix(*profile); });
  const auto clusters = timed("clusters", [&] { return find_clusters(*profile); });
  good = clusters.ok();
  const auto metrics = timed("metrics", [&] { return compute_metrics(*profile, *clusters, {}); });
  good = good && metrics.ok();
  std::vector<PairGroup> groups;
  for (const Cluster& cluster : clusters->clusters)
    groups.push_back(pairs_of(Traffic(cluster.matrix)));
  const Machine machine = *load_machine("numa:8 core:16 pu:1");
  SlotSet slots;
  for (const Pu& pu : machine.pus) {
    CpuSet one;
    one.set(pu.os);
    slots.push_back(make_slot(machine, one));
  }
  const Traffic traffic(matrix);
  const CostModel model = CostModel::from(machine);
  const Mapping none;
  const auto mapping = timed("deloc", [&] {
    return map_deloc_groups({machine, slots, traffic, model, none}, groups);
  });
  good = good && mapping.ok();
  fmt::print("{} clusters, {} messages in the matrix\n", clusters->clusters.size(),
             profile->events());
  std::filesystem::remove(path);
  return good ? 0 : 1;
}
