// SPDX-License-Identifier: Apache-2.0
// ondeloc place.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <random>
#include <sstream>

#include "tests/unit/apps/command.h"

using namespace ondeloc;

namespace {

constexpr const char* kNode = "numa:2 core:2 pu:1";

// A search for hundreds of nodes takes hundreds of times the CPU time of a command without one.
constexpr double kQuick = 20;

// Seconds of CPU time of all commands that were run so far.
double children_seconds() {
  rusage used{};
  getrusage(RUSAGE_CHILDREN, &used);
  double seconds = 0;
  for (const timeval& part : {used.ru_utime, used.ru_stime})
    seconds += static_cast<double>(part.tv_sec) + 1e-6 * static_cast<double>(part.tv_usec);
  return seconds;
}

// Eight ranks; rank i talks to rank i + 4 only.
std::string far_pairs(const TempDir& dir) {
  std::string text = "src,dst,bytes\n";
  for (int i = 0; i < 4; ++i)
    text += std::to_string(i) + "," + std::to_string(i + 4) + ",1000000\n";
  write_text(dir.file("far.csv"), text);
  return dir.file("far.csv");
}

}  // namespace

TEST_CASE("place keeps pairs on one node and writes what srun takes") {
  const TempDir dir;
  const std::string prefix = dir.file("best");
  const Ran ran =
      run_command(dir, {"place", far_pairs(dir), "-t", kNode, "-H", "n[08-09]", "-o", prefix});
  REQUIRE(ran.status == 0);
  CHECK(ran.out.find("SLURM_HOSTFILE=" + prefix + ".hosts srun -n8 --distribution=arbitrary") !=
        std::string::npos);
  std::vector<std::string> hosts;
  std::istringstream lines(read_text(prefix + ".hosts"));
  for (std::string line; std::getline(lines, line);) hosts.push_back(line);
  REQUIRE(hosts.size() == 8);
  const std::string ranks = read_text(prefix + ".ranks");
  for (int i = 0; i < 8; ++i) {
    CHECK(hosts[i] == hosts[(i + 4) % 8]);
    CHECK(ranks.find("rank " + std::to_string(i) + "=" + hosts[i] + " slot=") != std::string::npos);
  }
}

TEST_CASE("place tells the cost beside srun's distributions") {
  const TempDir dir;
  const Ran ran = run_command(dir, {"place", far_pairs(dir), "-t", kNode, "-N", "2", "-f", "json"});
  REQUIRE(ran.status == 0);
  const auto json = nlohmann::json::parse(ran.out);
  REQUIRE(json["layouts"].size() == 4);
  CHECK(json["layouts"][0]["name"] == "block");
  CHECK(json["layouts"][0]["off_node_bytes"] == 4000000);
  CHECK(json["layouts"][3]["name"] == "placed");
  CHECK(json["layouts"][3]["off_node_bytes"] == 0);
  CHECK(json["nodes"].size() == 2);
}

TEST_CASE("traffic inside a node takes no time of the network; no traffic has no share") {
  const TempDir dir;
  const auto rows_of = [&](const std::string& file) {
    const Ran ran = run_command(dir, {"place", file, "-t", "core:8 pu:1", "-N", "1", "-f", "json"});
    REQUIRE(ran.status == 0);
    return nlohmann::json::parse(ran.out)["layouts"];
  };
  for (const auto& row : rows_of(far_pairs(dir))) {
    CHECK(row["cost"] == 0);
    CHECK(row["off_node_share"] == 0);
    CHECK(row["fullest_adapter_node"] == nullptr);
  }
  write_text(dir.file("silent.mat"), "0 0\n0 0\n");
  for (const auto& row : rows_of(dir.file("silent.mat"))) CHECK(row["off_node_share"] == nullptr);
}

TEST_CASE("the step of place gets the CPUs of the whole job, so that its rankfile fits") {
  const TempDir dir;
  write_text(dir.file("two.mat"), "0 5\n5 0\n");
  const Ran ran = run_command(dir, {"place", dir.file("two.mat"), "-t", "numa:2 core:4 pu:1", "-c",
                                    "2", "-H", "n0", "-o", dir.file("best")});
  REQUIRE(ran.status == 0);
  CHECK(read_text(dir.file("best.ranks")) == "rank 0=n0 slot=0-1\nrank 1=n0 slot=4-5\n");
  CHECK(ran.out.find(" srun -n2 --distribution=arbitrary") != std::string::npos);
}

TEST_CASE("the command line that place prints is one for a shell") {
  const TempDir dir;
  const Ran ran = run_command(
      dir, {"place", far_pairs(dir), "-t", kNode, "-H", "n[0-1]", "-o", dir.file("best o'two")});
  REQUIRE(ran.status == 0);
  const std::string word = "'" + dir.file("best o'\\''two'");
  CHECK(ran.out.find("SLURM_HOSTFILE=" + word + ".hosts srun") != std::string::npos);
  CHECK(ran.out.find("--ondeloc=static:" + word + ".ranks ./app") != std::string::npos);
}

TEST_CASE("place takes the quick setting and any effort") {
  const TempDir dir;
  for (const char* algorithm : {"coordinated", "coordinated:7"}) {
    const Ran ran = run_command(
        dir, {"place", far_pairs(dir), "-t", kNode, "-N", "2", "-f", "json", "-a", algorithm});
    REQUIRE(ran.status == 0);
    CHECK(nlohmann::json::parse(ran.out)["layouts"][3]["off_node_bytes"] == 0);
  }
}

TEST_CASE("place takes a layout of LAMA over all nodes") {
  const TempDir dir;
  const std::string prefix = dir.file("lama");
  const Ran ran = run_command(dir, {"place", far_pairs(dir), "-t", "package:2 core:2 pu:1", "-H",
                                    "n[0-1]", "--lama", "nsch/bind=1s", "-o", prefix});
  CAPTURE(ran.err);
  REQUIRE(ran.status == 0);
  CHECK(ran.out.find("\nlama ") != std::string::npos);
  CHECK(read_text(prefix + ".hosts") == "n0\nn1\nn0\nn1\nn0\nn1\nn0\nn1\n");
  const std::string ranks = read_text(prefix + ".ranks");
  CHECK(ranks.find("rank 2=n0 slot=2-3\n") != std::string::npos);
  CHECK(ranks.find("rank 5=n1 slot=0-1\n") != std::string::npos);
}

TEST_CASE("place fills nodes of different size") {
  const TempDir dir;
  const Ran ran = run_command(
      dir, {"place", far_pairs(dir), "-t", "core:2 pu:1", "-t", "core:8 pu:1", "-f", "json"});
  REQUIRE(ran.status == 0);
  const auto json = nlohmann::json::parse(ran.out);
  CHECK(json["nodes"][0]["ranks"].size() == 2);
  CHECK(json["nodes"][1]["ranks"].size() == 6);
}

TEST_CASE("place leaves nodes without ranks if there are more nodes than ranks") {
  const TempDir dir;
  write_text(dir.file("two.mat"), "0 5\n5 0\n");
  std::vector<std::string> words{"place", dir.file("two.mat"), "-t", "numa:2 core:4 pu:2", "-H",
                                 "n[0-3]"};
  const Ran table = run_command(dir, words);
  REQUIRE(table.status == 0);
  CHECK(table.out.find("n0: 1 rank: 0\nn1: 1 rank: 1\nn2: no ranks\nn3: no ranks\n") !=
        std::string::npos);
  words.insert(words.end(), {"-f", "json", "-o", dir.file("best")});
  const Ran json = run_command(dir, words);
  REQUIRE(json.status == 0);
  const auto nodes = nlohmann::json::parse(json.out)["nodes"];
  REQUIRE(nodes.size() == 4);
  CHECK(nodes[1]["ranks"].size() == 1);
  CHECK(nodes[3] == nlohmann::json{{"node", "n3"}, {"ranks", nlohmann::json::array()}});
  CHECK(read_text(dir.file("best.hosts")) == "n0\nn1\n");
  CHECK(read_text(dir.file("best.ranks")) == "rank 0=n0 slot=0\nrank 1=n1 slot=0\n");
}

TEST_CASE("place leaves out a node without room between others") {
  const TempDir dir;
  write_text(dir.file("four.csv"), "src,dst,bytes\n0,2,900\n1,3,900\n");
  const Ran ran =
      run_command(dir, {"place", dir.file("four.csv"), "-t", "core:4 pu:1", "-t", "core:1 pu:1",
                        "-t", "core:4 pu:1", "-c", "2", "-H", "n[0-2]", "-o", dir.file("best")});
  REQUIRE(ran.status == 0);
  CHECK(ran.out.find("\nn1: no ranks\n") != std::string::npos);
  const std::string hosts = read_text(dir.file("best.hosts"));
  CHECK((hosts == "n0\nn2\nn0\nn2\n" || hosts == "n2\nn0\nn2\nn0\n"));
}

TEST_CASE("place needs little time for nodes without ranks") {
  const TempDir dir;
  const auto seconds_of = [&](const char* nodes) {
    const double before = children_seconds();
    CHECK(run_command(dir, {"place", far_pairs(dir), "-t", kNode, "-N", nodes}).status == 0);
    return children_seconds() - before;
  };
  const double without = seconds_of("8");
  CHECK(seconds_of("1024") < kQuick * without);
}

TEST_CASE("place refuses a layout of LAMA before it searches") {
  const TempDir dir;
  std::mt19937 random(1);
  std::string text = "src,dst,bytes\n";
  for (unsigned i = 0; i < 1024; ++i)
    for (int k = 0; k < 8; ++k)
      text += std::to_string(i) + "," + std::to_string(random() % 1024) + ",1000\n";
  write_text(dir.file("many.csv"), text);
  const double start = children_seconds();
  REQUIRE(run_command(dir, {"map", dir.file("many.csv"), "-a", "packed", "-t", "core:1024 pu:1"})
              .status == 0);
  const double of_map = children_seconds() - start;
  struct Wrong {
    const char *node, *layout, *problem;
  };
  for (const Wrong& wrong : {Wrong{"core:64 pu:1", "nch", "have 16384 hardware threads, and 8192"},
                             {"core:4 pu:1", "nqh", "'qh' is not a level"}}) {
    const double before = children_seconds();
    const Ran ran = run_command(dir, {"place", dir.file("many.csv"), "-t", wrong.node, "-N", "256",
                                      "--lama", wrong.layout});
    CAPTURE(ran.err);
    CHECK(ran.status == 1);
    CHECK(ran.err.find(wrong.problem) != std::string::npos);
    CHECK(children_seconds() - before < kQuick * of_map);
  }
}

TEST_CASE("place refuses what cannot be placed") {
  const TempDir dir;
  const std::string matrix = far_pairs(dir);
  struct Wrong {
    std::vector<std::string> words;
    const char* problem;
  };
  for (const Wrong& wrong :
       {Wrong{{"-t", kNode}, "the number of nodes is not known; give --nodes N"},
        {{"-t", "core:2 pu:1", "-N", "3"}, "8 ranks of 1 CPU do not fit on 3 nodes"},
        {{"-t", kNode, "-N", "3", "-H", "n[0-1]"}, "--hosts names 2 hosts, but --nodes is 3"},
        {{"-t", kNode, "-t", kNode, "-N", "3"}, "2 topologies are given for 3 nodes"},
        {{"-t", kNode, "-N", "2", "-o", dir.file("x")}, "--output needs the names of the nodes"},
        {{"-t", kNode, "-H", "n[0-1]", "-o", "-"}, "--output: place writes two files"},
        {{"-t", kNode, "-H", "n[0-"}, "is not a host"},
        {{"-t", kNode, "-N", "2", "-n", "4"}, "--ranks: 4 is below the 8 ranks of the matrix"},
        {{"-t", kNode, "-N", "2", "-a", "packed"}, "'packed' does not place ranks on nodes; use"},
        {{"-t", kNode, "-N", "2", "-a", "coordinated:0"}, "'0' is not an effort"},
        {{"-t", kNode, "-N", "4", "--lama", "scbnh", "-c", "2"},
         "--cpus-per-task: lama places hardware threads; give the width in the layout"}}) {
    std::vector<std::string> words{"place", matrix};
    words.insert(words.end(), wrong.words.begin(), wrong.words.end());
    const Ran ran = run_command(dir, words);
    CAPTURE(wrong.problem, ran.err);
    CHECK(ran.status == 1);
    std::string line = ran.err;
    std::replace(line.begin(), line.end(), '\n', ' ');
    CHECK(line.find(wrong.problem) != std::string::npos);
  }
}
