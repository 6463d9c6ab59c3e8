// SPDX-License-Identifier: Apache-2.0
#include "mapcore/base/cpu_set.h"

#include "tests/unit/catch.h"

using ondeloc::CpuSet;
using ondeloc::PuOs;

TEST_CASE("CPU lists are read and written in Linux list form") {
  for (const char* text : {"", "0", "0-3,8", "63-64", "1,3,5-7,8191"}) {
    auto set = CpuSet::parse_list(text);
    REQUIRE(set.ok());
    CHECK(set->to_list() == text);
  }
  CHECK(CpuSet::parse_list("0-3,8")->count() == 5);
}

TEST_CASE("a bad CPU list is one sentence with the offending piece") {
  for (const char* text : {"a", "3-1", "-1", "1-", "8192", "1,,2", "0x3", "99999999999999999999"}) {
    auto set = CpuSet::parse_list(text);
    REQUIRE(!set.ok());
    CHECK(set.error().message().find("CPU list") == 0);
  }
}

TEST_CASE("set algebra") {
  const CpuSet a = *CpuSet::parse_list("0-3,100"), b = *CpuSet::parse_list("2-5");
  CHECK((a & b).to_list() == "2-3");
  CHECK((a | b).to_list() == "0-5,100");
  CHECK((a - b).to_list() == "0-1,100");
  CHECK((a & b).is_subset_of(b));
  CHECK(!a.is_subset_of(b));
  CHECK(a.intersects(b));
  CHECK(a.next(3) == 100);
  CHECK(a.next(100) == -1);
  CpuSet c = a;
  c.clear(PuOs(100));
  CHECK(c == *CpuSet::parse_list("0-3"));
}

TEST_CASE("masks of SLURM_CPU_BIND_LIST") {
  const auto list_of = [](std::string_view masks) {
    const auto cpus = CpuSet::parse_mask_list(masks);
    return cpus ? cpus->to_list() : "refused";
  };
  CHECK(list_of("0x1,0x2") == "0-1");
  CHECK(list_of("0x80000000000000001") == "0,67");
  CHECK(list_of("FF,0X100") == "0-8");
  CHECK(list_of("0x0,0x2") == "1");
  CHECK(list_of("0x3*4,0xC*2") == "0-3");
  CHECK(list_of(std::string(2047, '0') + "1") == "0");
  for (const char* wrong : {"", "0x", "0x1,", "0x1,zz", "1;2", "0x1*", "0x1*x", "*2", "0x1 ", "-1"})
    CHECK(list_of(wrong) == "refused");
  CHECK(list_of(std::string(2049, 'f')) == "refused");
}
