// SPDX-License-Identifier: Apache-2.0
// Energy and memory traffic of a node in the report. The trees of resctrl are made after the
// kernel's documentation; none was recorded on hardware.
#include "mapcore/mapper/node_energy.h"

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/unit/catch.h"
#include "tests/unit/temp_dir.h"

using namespace ondeloc;

namespace {

struct Monitors {
  TempDir dir;
  void put(const std::string& monitor, const char* local, const char* total) const {
    const std::string path = dir.file("sys/fs/resctrl/mon_data/" + monitor);
    std::filesystem::create_directories(path);
    std::ofstream(path + "/mbm_local_bytes") << local << "\n";
    std::ofstream(path + "/mbm_total_bytes") << total << "\n";
  }
};

}  // namespace

TEST_CASE("each state of a counter of energy has its number or its sentence") {
  ondeloc_record_end record{};
  record.energy_ns = 2'500'000'000;
  record.package_energy = {ONDELOC_ENERGY_KNOWN, 0, 12'500'000};
  record.dram_energy = {ONDELOC_ENERGY_WRAPPED, 4, 0};
  ReportEnergy energy = energy_of(record);
  CHECK(energy.seconds == 2.5);
  CHECK(energy.package_joules == 12.5);
  CHECK(energy.why_no_package.empty());
  CHECK_FALSE(energy.dram_joules);
  CHECK(energy.why_no_dram == "nobody read a counter for so long that it may have wrapped 4 times");
  record.package_energy = {ONDELOC_ENERGY_UNREADABLE, EACCES, 7};
  record.dram_energy = {};
  energy = energy_of(record);
  CHECK_FALSE(energy.package_joules);
  CHECK(energy.why_no_package == "a counter cannot be read: Permission denied");
  CHECK(energy.why_no_dram == "the kernel shows no such counter in /sys/class/powercap");
}

TEST_CASE("memory traffic is the sum over the caches since the start") {
  const Monitors tree;
  tree.put("mon_L3_00", "1000", "1500");
  tree.put("mon_L3_01", "0", "18446744073709550000");
  tree.put("mon_MB_00", "no cache", "no cache");
  const NodeMemory untouched(tree.dir.path());
  CHECK_FALSE(untouched.since_start().remote_share);
  tree.put("mon_L3_01", "0", "100");
  const NodeMemory memory(tree.dir.path());
  tree.put("mon_L3_00", "1600", "2300");
  tree.put("mon_L3_01", "150", "300");
  const ReportMemory traffic = memory.since_start();
  CHECK(traffic.why.empty());
  CHECK(traffic.local_bytes == 750.0);
  CHECK(traffic.total_bytes == 1000.0);
  CHECK(traffic.remote_share == 0.25);
  CHECK_FALSE(untouched.since_start().total_bytes);
  CHECK(untouched.since_start().why == "the kernel has set the counters back");
}

TEST_CASE("traffic that is not told has a reason") {
  const TempDir empty;
  CHECK(NodeMemory(empty.path()).since_start().why == "there is no /sys/fs/resctrl/mon_data");
  const Monitors tree;
  std::filesystem::create_directories(tree.dir.file("sys/fs/resctrl/mon_data"));
  CHECK(NodeMemory(tree.dir.path()).since_start().why ==
        "/sys/fs/resctrl/mon_data has no monitor of a last-level cache");
  tree.put("mon_L3_00", "1", "1");
  const NodeMemory memory(tree.dir.path());
  tree.put("mon_L3_00", "1", "Unavailable");
  CHECK(memory.since_start().why ==
        "/sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes says 'Unavailable'");
  std::filesystem::remove(tree.dir.file("sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes"));
  CHECK(memory.since_start().why ==
        "/sys/fs/resctrl/mon_data/mon_L3_00/mbm_total_bytes cannot be read");
}
