// SPDX-License-Identifier: Apache-2.0
#include "mapcore/place/host_list.h"

#include <string>
#include <vector>

#include "tests/unit/catch.h"

using namespace ondeloc;

TEST_CASE("hosts are expanded as Slurm expands them") {
  const auto names = [](const char* list) { return *expand_hosts(list); };
  using Names = std::vector<std::string>;
  CHECK(names("login") == Names{"login"});
  CHECK(names("n[0-2,7],m") == Names{"n0", "n1", "n2", "n7", "m"});
  CHECK(names("rack1n[08-11]") == Names{"rack1n08", "rack1n09", "rack1n10", "rack1n11"});
  CHECK(names("n[1-2]-ib, x.y") == Names{"n1-ib", "n2-ib", "x.y"});
  CHECK(names("n[0-1023]").size() == kMostHosts);
}

TEST_CASE("a list of hosts with a fault is refused in one sentence") {
  struct Wrong {
    const char* list;
    const char* problem;
  };
  for (const Wrong& wrong : {Wrong{"", "'' is not a host"},
                             {"n[0-3", "is not a host; write for example node[0-3],node7"},
                             {"n]0[", "is not a host"},
                             {"n[0-3][1-2]", "is not a host"},
                             {"a b", "is not a host"},
                             {"a,,b", "'' is not a host"},
                             {"n[]", "'' is not a range such as 0-3 or 08-11"},
                             {"n[3-1]", "'3-1' is not a range"},
                             {"n[-1]", "'-1' is not a range"},
                             {"n[1-99999999999]", "is not a range"},
                             {"n[0-1024]", "the list has more than 1024 hosts"},
                             {"n1,n[0-2]", "'n1' appears twice"}}) {
    CAPTURE(wrong.list);
    const auto names = expand_hosts(wrong.list);
    REQUIRE(!names);
    CHECK(names.error().message().find(wrong.problem) != std::string::npos);
  }
}
