// SPDX-License-Identifier: Apache-2.0
#include "mapcore/rankfile/rankfile.h"

#include "mapcore/rankfile/resolve.h"
#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

const Machine& two_by_four() {
  static const Machine machine = *load_machine("package:2 numa:1 core:4 pu:2");
  return machine;
}

std::string pus_of(const std::string& slots, const char* usable = "0-15", bool relative = false) {
  auto file = parse_rankfile("rank 0=n1 slot=" + slots, "t");
  if (!file) return file.error().message();
  auto pus = resolve_slots(file->entries.begin()->second, two_by_four(),
                           *CpuSet::parse_list(usable), relative);
  return pus ? pus->to_list() : pus.error().message();
}

std::string error_of(const std::string& text) {
  auto file = parse_rankfile(text, "t");
  return file ? "" : file.error().message();
}

}  // namespace

TEST_CASE("the documented examples") {
  auto file = parse_rankfile(
      "# comment\nrank 0=aa slot=1:0-2\nrank 1=bb slot=0:0,1 // more\n/* two\nlines */ rank 2=cc "
      "slot=1-2\n"
      "rank 3 = user@+n1x slots = p1 ; 0:*\nrank 4=+n2 slot=S0,1\n",
      "t");
  REQUIRE(file.ok());
  CHECK(file->entries.size() == 5);
  CHECK(file->entries.at(WorldRank(2)).line == 5);
  CHECK(file->entries.at(WorldRank(4)).node == 2);
  CHECK(file->entries.at(WorldRank(3)).slots.size() == 2);
}

TEST_CASE("numbers are logical: packages, cores inside packages, bare cores") {
  CHECK(pus_of("1:0-2") == "8-13");
  CHECK(pus_of("0:0,1") == "0-3");
  CHECK(pus_of("1-2") == "2-5");
  CHECK(pus_of("4") == "8-9");
  CHECK(pus_of("S1") == "8-15");
  CHECK(pus_of("p0:c1") == "2-3");
  CHECK(pus_of("0:1:3") == "2-3,6-7");
  CHECK(pus_of("1:*") == "8-15");
  CHECK(pus_of("0;1:3") == "0-1,14-15");
}

TEST_CASE("numbers may count inside the step") {
  CHECK(pus_of("0", "4-5,9-11", true) == "4-5");
  CHECK(pus_of("1", "4-5,9-11", true) == "9");
  CHECK(pus_of("1:1", "4-5,9-11", true) == "10-11");
  CHECK(pus_of("3", "4-5,9-11", true).find("core 3 does not exist") != std::string::npos);
}

TEST_CASE("outside the step is an error, a missing thread is not") {
  CHECK(pus_of("0", "8-15").find("outside the step's CPUs 8-15") != std::string::npos);
  CHECK(pus_of("4", "9-15") == "9");
  CHECK(pus_of("3-5", "8-15").find("CPUs 6-7, outside the step's CPUs 8-15") != std::string::npos);
  CHECK(pus_of("9").find("core 9 does not exist") != std::string::npos);
  CHECK(pus_of("2:0").find("package 2 does not exist") != std::string::npos);
}

TEST_CASE("an error names its line") {
  CHECK(error_of("rank 0=a slot=0\nrank 0=b slot=1") ==
        "rankfile 't': line 2: rank 0 stands on line 1 already");
  CHECK(error_of("rank x=a slot=0") == "rankfile 't': line 1: found 'x', expected a rank number");
  CHECK(error_of("rank 0=a slot=") ==
        "rankfile 't': line 1: the entry ends before a slot list such as 0:1 or 0-3");
  CHECK(error_of("rank 0=a\nslot=1-").find("line 2: rank 0: slot '1-'") != std::string::npos);
  CHECK(error_of("rank 0=a slot=0\nnonsense") ==
        "rankfile 't': line 2: found 'nonsense', expected an entry like 'rank 0=host slot=0:1'");
  CHECK(error_of("rank 0=a slot=0\n1 rank 1=a slot=1").find("line 2: found '1'") !=
        std::string::npos);
  CHECK(error_of("rank 0=a slot=0\nrank 1=a slot=x").find("line 2: rank 1: slot 'x'") !=
        std::string::npos);
  CHECK(error_of("rank 0=\"a\" slot=1").find("has no place in a rankfile") != std::string::npos);
  CHECK(error_of("/* never").find("the comment does not end") != std::string::npos);
  CHECK(error_of("rank 99999999999=a slot=0").find("a rank number") != std::string::npos);
  CHECK(error_of("Rank 0=a slot=0").find("an entry like") != std::string::npos);
  CHECK(error_of("rank 0 slot=0").find("expected '=', or 'thread'") != std::string::npos);
  CHECK(error_of("rank 0=a slot=3-1").find("slot '3-1'") != std::string::npos);
  CHECK(!read_rankfile("/nowhere/ranks.txt").ok());
}

TEST_CASE("hosts: names, domains, +n") {
  RankfileEntry entry;
  entry.host = "node1";
  CHECK(is_on_node(entry, "node1", 0));
  CHECK(is_on_node(entry, "node1.site.org", 0));
  CHECK(!is_on_node(entry, "node2", 0));
  entry.host = "node1.a";
  CHECK(!is_on_node(entry, "node1.b", 0));
  CHECK(is_on_node(entry, "node1", 0));
  entry.node = 3;
  CHECK(is_on_node(entry, "whatever", 3));
}

TEST_CASE("a file says itself that it counts inside the step, on a line of its own") {
  const std::string mark(kRelativeMark), utf8 = "\xEF\xBB\xBF", entry = "rank 0=+n0 slot=0\n";
  for (const std::string& text :
       {mark + "\n" + entry, entry + mark, mark + " \r\n" + entry, utf8 + mark + "\n" + entry})
    CHECK(parse_rankfile(text, "f")->relative);
  for (const std::string& text : {entry, " " + mark + "\n" + entry, mark + "!\n" + entry,
                                  mark.substr(1), "rank 0=+n0 slot=0 " + mark}) {
    const auto file = parse_rankfile(text, "f");
    CHECK((!file || !file->relative));
  }
}

namespace {

// The CPUs of each thread of rank 0, or the error.
std::string cpus_of_threads(const std::string& text, const char* usable = "0-15") {
  const auto file = parse_rankfile(text, "t");
  if (!file) return file.error().message();
  const CpuSet cpus = *CpuSet::parse_list(usable);
  const RankfileEntry& entry = file->entries.begin()->second;
  const auto of_rank = resolve_slots(entry, two_by_four(), cpus, file->relative);
  if (!of_rank) return of_rank.error().message();
  const auto threads = resolve_threads(entry, two_by_four(), cpus, file->relative, *of_rank);
  if (!threads) return threads.error().message();
  std::string lists;
  for (const CpuSet& thread : *threads) lists += thread.to_list() + ";";
  return lists;
}

}  // namespace

TEST_CASE("a rank may have lines for its threads, in any order") {
  CHECK(cpus_of_threads("rank 0=n slot=0-3\nrank 0 thread 1 slot=2\nrank 0 thread 0 slot=0:3\n") ==
        "6-7;4-5;");
  CHECK(cpus_of_threads("rank 0 thread 0 slots = 1 ; 2\nrank 0=n slot=0:*") == "2-5;");
  CHECK(cpus_of_threads("rank 0=n slot=0-1") == "");
  CHECK(cpus_of_threads("rank 0=n slot=0-1 rank 0 thread 2 slot=1") == ";;2-3;");
  CHECK(cpus_of_threads("rank 0=n slot=0-1 rank 0 thread 0 slot=1", "0-2") == "2;");
  CHECK(cpus_of_threads(std::string(kRelativeMark) + "\nrank 0=n slot=0 rank 0 thread 0 slot=0",
                        "4-5") == "4-5;");
  const auto file = parse_rankfile(
      "rank 0=n slot=0\nrank 1=n slot=1-2\nrank 1 thread 0 slot=1\nrank 1 thread 1 slot=2", "t");
  REQUIRE(file.ok());
  CHECK(file->entries.at(WorldRank(0)).threads.empty());
  CHECK(file->entries.at(WorldRank(1)).threads.at(1).line == 4);
}

TEST_CASE("a wrong line of a thread is told with what to do") {
  const std::string rank = "rank 0=n slot=0-1\n";
  CHECK(cpus_of_threads(rank + "rank 0 thread 1 slot=2") ==
        "line 2: rank 0 thread 1 would run on CPUs 4-5, outside the CPUs 0-3 of its rank; name its "
        "cores in line 1 too");
  CHECK(cpus_of_threads(rank + "rank 0 thread 0 slot=9").find("line 2: rank 0 thread 0: core 9") ==
        0);
  CHECK(error_of("rank 1 thread 3 slot=0") ==
        "rankfile 't': line 1: thread 3 of rank 1 has a line, but the rank has none; add 'rank "
        "1=HOST slot=...' with the cores of all its threads");
  CHECK(error_of(rank + "rank 0 thread 1 slot=0\nrank 0 thread 1 slot=1") ==
        "rankfile 't': line 3: thread 1 of rank 0 stands on line 2 already");
  CHECK(error_of(rank + "rank 0 thread 4096 slot=0") ==
        "rankfile 't': line 2: found '4096', expected the number of a thread, from 0 to 4095");
  CHECK(error_of(rank + "rank 0 thread x slot=0").find("line 2: found 'x'") != std::string::npos);
  CHECK(error_of(rank + "rank 0 thread").find("the entry ends before") != std::string::npos);
  CHECK(error_of(rank + "rank 0 thread 1=0").find("found '=', expected 'slot='") !=
        std::string::npos);
  CHECK(error_of(rank + "rank 0 thread 1 slot=y").find("line 2: rank 0 thread 1: slot 'y'") !=
        std::string::npos);
}
