// SPDX-License-Identifier: Apache-2.0
#include "mapcore/mapper/bind_lama.h"

#include "mapcore/topology/load.h"
#include "tests/unit/catch.h"

using namespace ondeloc;

namespace {

// Two packages of two cores of two hardware threads: PUs 0 to 7.
struct Node {
  Machine machine = *load_machine("package:2 core:2 pu:2");
  std::uint32_t cpus_per_task = 1;

  std::vector<std::string> cpus(const std::string& layout, int ranks,
                                const std::string& usable = "0-7") const {
    std::vector<std::string> all;
    for (int rank = 0; rank < ranks; ++rank) {
      BindArguments call;
      call.file = layout;
      call.local_rank = rank;
      call.local_ranks = ranks;
      call.cpus_per_task = cpus_per_task;
      const auto pus = cpus_by_lama(call, machine, *CpuSet::parse_list(usable));
      all.push_back(pus ? pus->to_list() : pus.error().message());
    }
    return all;
  }
};

using List = std::vector<std::string>;

}  // namespace

TEST_CASE("the tasks of a node are laid out in the order of their ranks") {
  const Node node;
  CHECK(node.cpus("lama:scbnh", 4) == List{"0", "4", "2", "6"});
  CHECK(node.cpus("lama:hcsbn", 3) == List{"0", "1", "2"});
  CHECK(node.cpus("lama:scbnh/bind=1c", 2) == List{"0-1", "4-5"});
}

TEST_CASE("a level has an order of its own") {
  const Node node;
  CHECK(node.cpus("lama:scbnh/visit=s:1", 4) == List{"4", "0", "6", "2"});
  CHECK(node.cpus("lama:scbnh/visit=s:1+0/visit=c:1", 4) == List{"6", "2", "4", "0"});
  CHECK(node.cpus("lama:scbnh/visit=c:7+1", 2) == List{"2", "6"});  // there is no core 7
  const auto error = [&](const std::string& visit) {
    return node.cpus("lama:scbnh/visit=" + visit, 1)[0];
  };
  CHECK(error("s").find("is not of the form c:1+0") != std::string::npos);
  CHECK(error("s:x").find("'x' is not a number") != std::string::npos);
  CHECK(error("s:1+1").find("object 1 appears twice") != std::string::npos);
  CHECK(error("s:1/visit=s:0").find("level 's' appears twice") != std::string::npos);
  CHECK(error("N:1").find("does not have the level 'N'") != std::string::npos);
}

TEST_CASE("a layout keeps to the CPUs of the step") {
  const Node node;
  CHECK(node.cpus("lama:scbnh", 2, "2-3,6") == List{"2", "6"});
  CHECK(node.cpus("lama:scbnh/bind=1c", 2, "2-3,6") == List{"2-3", "6"});
  for (const char* usable : {"", "8-9"})
    CHECK(node.cpus("lama:scbnh", 1, usable)[0].find("none of the CPUs 0-7") != std::string::npos);
}

TEST_CASE("ranks of several CPUs get as many as srun -c asked for") {
  Node node;
  node.cpus_per_task = 2;
  CHECK(node.cpus("lama:scbnh", 3) == List{"0-1", "4-5", "2-3"});
}

TEST_CASE("a layout without room says what to do") {
  const Node node;
  CHECK(node.cpus("lama:core", 9)[0].find("add /oversubscribe") != std::string::npos);
  CHECK(node.cpus("lama:core/oversubscribe", 9)[8] == "0");
}
