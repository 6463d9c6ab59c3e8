// SPDX-License-Identifier: Apache-2.0
// Energy from made trees of powercap zones, as the kernel names them. No tree was recorded on
// hardware: names and limits are those of the kernel's documentation.
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/catch.h"
#include "tests/unit/temp_dir.h"

#include "spank/energy_meter.h"

using namespace ondeloc;

namespace {

constexpr std::uint64_t kCounterRange = 262'143'328'850, kSecondNs = 1'000'000'000;

struct PowercapTree {
  TempDir dir;
  void put(const std::string& zone, const std::string& file, const std::string& text) const {
    std::filesystem::create_directories(dir.file(zone));
    std::ofstream(dir.file(zone + "/" + file)) << text << "\n";
  }
  void zone(const std::string& zone, const std::string& name, std::uint64_t microjoules) const {
    put(zone, "name", name);
    put(zone, "energy_uj", std::to_string(microjoules));
    put(zone, "max_energy_range_uj", std::to_string(kCounterRange));
    put(zone, "constraint_0_power_limit_uw", "205000000");
    put(zone, "constraint_0_max_power_uw", "165000000");
  }
  // A node of two packages, with counters that read so.
  void node(std::uint64_t package, std::uint64_t dram) const {
    zone("intel-rapl:0", "package-0", package);
    zone("intel-rapl:0:0", "core", 7);
    zone("intel-rapl:0:1", "dram", dram);
    zone("intel-rapl:1", "package-1", package + 1);
    zone("intel-rapl:1:0", "dram", dram + 1);
    zone("intel-rapl:2", "psys", 99);
    zone("intel-rapl-mmio:0", "package-0", package);  // the same package again
  }
  EnergyReading read(std::uint64_t at_ns) const {
    EnergyReading reading = read_energy(dir.path().c_str());
    CHECK(reading.at_ns > 0);
    reading.at_ns = at_ns;
    return reading;
  }
};

ondeloc_record_end energy_between(const EnergyReading& first, const EnergyReading& last) {
  ondeloc_record_end record{};
  EnergyMeter meter;
  meter.start(first);
  meter.finish(last, record);
  return record;
}

}  // namespace

TEST_CASE("packages and memory are summed, and no zone counts twice") {
  const PowercapTree tree;
  tree.node(1000, 50);
  const EnergyReading first = tree.read(kSecondNs);
  tree.node(4000, 70);
  const auto record = energy_between(first, tree.read(11 * kSecondNs));
  CHECK(record.energy_ns == 10 * kSecondNs);
  CHECK(record.package_energy.state == ONDELOC_ENERGY_KNOWN);
  CHECK(record.package_energy.microjoules == 6000);
  CHECK(record.dram_energy.state == ONDELOC_ENERGY_KNOWN);
  CHECK(record.dram_energy.microjoules == 40);
}

TEST_CASE("a counter that began anew once is continued") {
  const PowercapTree tree;
  tree.zone("intel-rapl:0", "package-0", kCounterRange - 100);
  const EnergyReading first = tree.read(kSecondNs);
  tree.zone("intel-rapl:0", "package-0", 400);
  const auto record = energy_between(first, tree.read(2 * kSecondNs));
  CHECK(record.package_energy.state == ONDELOC_ENERGY_KNOWN);
  CHECK(record.package_energy.microjoules == 500);
  CHECK(record.dram_energy.state == ONDELOC_ENERGY_ABSENT);
}

TEST_CASE(
    "a step that is long enough for two wraps has no energy, and says how many there may be") {
  const PowercapTree tree;
  tree.zone("intel-rapl:0", "package-0", 100);
  const EnergyReading first = tree.read(1);
  tree.zone("intel-rapl:0", "package-0", 400);
  // The range at 205 W lasts 1278.7 s.
  CHECK(energy_between(first, tree.read(1278 * kSecondNs)).package_energy.state ==
        ONDELOC_ENERGY_KNOWN);
  const auto long_step = energy_between(first, tree.read(3900 * kSecondNs)).package_energy;
  CHECK(long_step.state == ONDELOC_ENERGY_WRAPPED);
  CHECK(long_step.detail == 4);
  CHECK(long_step.microjoules == 0);
}

TEST_CASE("readings in between carry a long step over any number of wraps") {
  const PowercapTree tree;
  tree.node(1000, 50);
  EnergyMeter meter;
  meter.start(tree.read(kSecondNs));
  // 1000 s each at 200 W: the counter of package 0 wraps in most rounds.
  constexpr std::uint64_t kRound = 200'000'000'000;
  std::uint64_t package = 1000, seconds = 1;
  for (int round = 0; round < 7; ++round) {
    package = (package + kRound) % kCounterRange;
    seconds += 1000;
    tree.node(package, 50);
    if (round == 3) tree.put("intel-rapl:1", "energy_uj", "");  // for once it cannot be read
    // At most the power limit, 205 W, for 1278 s: the pause over one failed reading is too long.
    if (round != 6) meter.add(tree.read(seconds * kSecondNs));
  }
  ondeloc_record_end record{};
  meter.finish(tree.read(seconds * kSecondNs), record);
  CHECK(record.energy_ns == 7000 * kSecondNs);
  CHECK(record.dram_energy.state == ONDELOC_ENERGY_KNOWN);
  CHECK(record.dram_energy.microjoules == 0);
  CHECK(record.package_energy.state == ONDELOC_ENERGY_WRAPPED);
  CHECK(record.package_energy.detail == 2);
}

TEST_CASE("the sum over many readings is exact") {
  const PowercapTree tree;
  tree.zone("intel-rapl:0", "package-0", kCounterRange - 10);
  EnergyMeter meter;
  meter.start(tree.read(kSecondNs));
  std::uint64_t counter = kCounterRange - 10;
  for (std::uint64_t round = 1; round <= 5; ++round) {
    counter = (counter + kCounterRange - 1000) % kCounterRange;
    tree.zone("intel-rapl:0", "package-0", counter);
    meter.add(tree.read((1 + 1200 * round) * kSecondNs));
  }
  ondeloc_record_end record{};
  meter.finish(tree.read(7000 * kSecondNs), record);
  CHECK(record.package_energy.state == ONDELOC_ENERGY_KNOWN);
  CHECK(record.package_energy.microjoules == 5 * (kCounterRange - 1000));
}

TEST_CASE("the meter reads its tree by itself, no sooner than after the pause") {
  const PowercapTree tree;
  const std::string path = tree.dir.path();
  const auto run = [&](std::uint64_t pause_ns) {
    tree.zone("intel-rapl:0", "package-0", 100);
    EnergyMeter meter;
    meter.sample();  // not started: nothing happens
    meter.start(path.c_str(), pause_ns);
    tree.zone("intel-rapl:0", "package-0", 90);  // a wrap, if it is seen
    meter.sample();
    tree.zone("intel-rapl:0", "package-0", 130);
    ondeloc_record_end record{};
    meter.finish(record);
    CHECK(record.package_energy.state == ONDELOC_ENERGY_KNOWN);
    return record.package_energy.microjoules;
  };
  CHECK(run(0) == kCounterRange + 30);
  CHECK(run(3600 * kSecondNs) == 30);
}

TEST_CASE("a zone without limits is taken for the hungriest one") {
  const PowercapTree tree;
  tree.put("intel-rapl:0", "name", "package-0");
  tree.put("intel-rapl:0", "energy_uj", "1");
  tree.put("intel-rapl:0", "max_energy_range_uj", std::to_string(kCounterRange));
  const EnergyReading first = tree.read(1);
  CHECK(energy_between(first, tree.read(262 * kSecondNs)).package_energy.state ==
        ONDELOC_ENERGY_KNOWN);
  CHECK(energy_between(first, tree.read(263 * kSecondNs)).package_energy.state ==
        ONDELOC_ENERGY_WRAPPED);
}

TEST_CASE("a machine without zones, and a tree that is not there, have no energy") {
  const PowercapTree tree;
  for (const char* directory : {tree.dir.path().c_str(), "/no/such/directory"}) {
    const EnergyReading reading = read_energy(directory);
    const auto record = energy_between(reading, reading);
    CHECK(record.package_energy.state == ONDELOC_ENERGY_ABSENT);
    CHECK(record.dram_energy.state == ONDELOC_ENERGY_ABSENT);
  }
}

TEST_CASE("a node that was not read at the start has no energy, whatever the end reads") {
  const PowercapTree tree;
  tree.node(1000, 50);
  const auto record = energy_between({}, tree.read(kSecondNs));
  CHECK(record.energy_ns == 0);
  CHECK(record.package_energy.state == ONDELOC_ENERGY_ABSENT);
}

TEST_CASE("one counter that cannot be read leaves the sum of its kind unknown") {
  const PowercapTree tree;
  tree.node(1000, 50);
  const EnergyReading first = tree.read(1);
  const auto state = [&](const std::string& file, const std::string& text) {
    tree.node(1500, 60);
    tree.put("intel-rapl:1:0", file, text);
    return energy_between(first, tree.read(kSecondNs)).dram_energy;
  };
  for (const char* text : {"", "x", "12 ", "-3", "99999999999999999999"}) {
    CAPTURE(text);
    const ondeloc_energy energy = state("energy_uj", text);
    CHECK(energy.state == ONDELOC_ENERGY_UNREADABLE);
    CHECK(energy.detail == EINVAL);
  }
  CHECK(state("max_energy_range_uj", "0").detail == ERANGE);
  CHECK(state("max_energy_range_uj", "10").detail == ERANGE);
  CHECK(state("name", "uncore").detail == ENODEV);
  tree.node(1500, 60);
  std::filesystem::remove(tree.dir.file("intel-rapl:1:0/energy_uj"));
  const auto record = energy_between(first, tree.read(kSecondNs));
  CHECK(record.dram_energy.detail == ENOENT);
  CHECK(record.package_energy.state == ONDELOC_ENERGY_KNOWN);
}

TEST_CASE("a site's test switch names the tree") {
  SiteOptions site;
  CHECK(std::string(powercap_of(site)) == "/sys/class/powercap");
  site.test_switches = {"no-rows", "powercap:/made"};
  CHECK(std::string(powercap_of(site)) == "/made");
}
