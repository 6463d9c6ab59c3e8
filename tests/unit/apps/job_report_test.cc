// SPDX-License-Identifier: Apache-2.0
// The reports of several nodes: ondeloc profile merge, place, report.
#include <nlohmann/json.hpp>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/apps/command.h"

using namespace ondeloc;

namespace {

struct Cell {
  int src, dst, bytes;
};

std::string cells_text(const std::vector<Cell>& cells) {
  nlohmann::json all = nlohmann::json::array();
  for (const Cell& cell : cells)
    all.push_back({{"src", cell.src}, {"dst", cell.dst}, {"bytes", cell.bytes}, {"messages", 2}});
  return all.dump();
}

struct Node {
  std::string name;
  std::vector<int> ranks;
  std::vector<Cell> near, beyond;
  int rest = 0;  // bytes of the first rank that no cell holds
  int step = 0;
  int restarts = 0;  // of the job
};

// Writes a report as the mapper does, without the parts that are not read here.
std::string write_report(const TempDir& dir, const Node& node) {
  nlohmann::json ranks = nlohmann::json::array(), off = nlohmann::json::array();
  for (const int rank : node.ranks) {
    ranks.push_back({{"rank", rank}, {"initial_cpus", "0-1"}, {"final_cpus", "0"}});
    int bytes = rank == node.ranks.front() ? node.rest : 0;
    for (const Cell& cell : node.beyond) bytes += cell.src == rank ? cell.bytes : 0;
    if (bytes > 0) off.push_back({{"src", rank}, {"bytes", bytes}, {"messages", 2}});
  }
  const std::string restarts = std::to_string(node.restarts),
                    run = node.restarts > 0 ? ".r" + restarts : "",
                    path = dir.file("r." + node.name + run + ".json");
  const std::string origin =
      node.restarts > 0 ? R"("origin":{"restarts":")" + restarts + R"("},)" : "";
  write_text(path, R"({"version":1,"job":7,"step":)" + std::to_string(node.step) + "," + origin +
                       R"("node":")" + node.name + R"(","ranks":)" + ranks.dump() +
                       R"(,"matrix":)" + cells_text(node.near) + R"(,"off_node":)" + off.dump() +
                       R"(,"off_node_matrix":)" + cells_text(node.beyond) +
                       R"(,"intervals":[],"notes":["told"]})");
  return path;
}

// Ranks 0 and 2 talk most, and ranks 1 and 3; each pair runs on two nodes.
const Node kFirst{"n0", {0, 1}, {{0, 1, 10}}, {{0, 2, 1000}, {1, 3, 2000}}};
const Node kSecond{"n1", {2, 3}, {{3, 2, 20}}, {{2, 0, 300}, {3, 1, 400}}};

double placed_bytes(const Ran& ran) {
  return nlohmann::json::parse(ran.out)["layouts"].back()["off_node_bytes"].get<double>();
}

Ran place(const TempDir& dir, std::vector<std::string> files) {
  files.insert(files.begin(), "place");
  files.insert(files.end(), {"-N", "2", "-t", "core:2 pu:1", "-f", "json"});
  return run_command(dir, files);
}

std::string unfolded(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

}  // namespace

TEST_CASE("place takes the reports of all nodes, apart and merged") {
  const TempDir dir;
  const std::string a = write_report(dir, kFirst), b = write_report(dir, kSecond);
  const Ran apart = place(dir, {a, b});
  CAPTURE(apart.err);
  REQUIRE(apart.status == 0);
  CHECK(placed_bytes(apart) == 30);
  CHECK(nlohmann::json::parse(apart.out)["layouts"][0]["off_node_bytes"] == 3700);  // block
  const Ran merged = run_command(dir, {"profile", "merge", a, b, "-o", dir.file("job.json")});
  CHECK(merged.status == 0);
  CHECK(merged.out == "4 ranks of 2 nodes in " + dir.file("job.json") + "\n");
  CHECK(place(dir, {dir.file("job.json")}).out == apart.out);
  // A job report may be part of another, and each node may be there once only.
  const std::string c = write_report(dir, {"n2", {4, 5}, {{4, 5, 7}}, {{4, 0, 1}}});
  CHECK(run_command(dir, {"profile", "merge", dir.file("job.json"), c, "-o", dir.file("all.json")})
            .out.starts_with("6 ranks of 3 nodes"));
  CHECK(unfolded(place(dir, {dir.file("job.json"), b}).err).find("are both of node n1") !=
        std::string::npos);
}

TEST_CASE("info of a job tells the bytes that all nodes sent to other nodes") {
  const TempDir dir;
  Node first = kFirst;
  first.rest = 50;  // without a receiver
  const std::string a = write_report(dir, first), b = write_report(dir, kSecond);
  const std::string job = dir.file("job.json");
  REQUIRE(run_command(dir, {"profile", "merge", a, b, "-o", job}).status == 0);
  const auto off_node = [&](const std::string& file) {
    const Ran ran = run_command(dir, {"profile", "info", file, "-f", "json"});
    return nlohmann::json::parse(ran.out)["off_node_bytes"].get<int>();
  };
  CHECK(off_node(a) == 3050);
  CHECK(off_node(b) == 700);
  CHECK(off_node(job) == 3750);
  CHECK(run_command(dir, {"profile", "info", job}).out.find("off node bytes    3750\n") !=
        std::string::npos);
}

TEST_CASE("a job report is shown node by node, and names its kind elsewhere") {
  const TempDir dir;
  const std::string a = write_report(dir, kFirst), b = write_report(dir, kSecond);
  const std::string job = dir.file("job.json");
  REQUIRE(run_command(dir, {"profile", "merge", a, b, "-o", job}).status == 0);
  const Ran told = run_command(dir, {"report", job});
  CHECK(told.status == 0);
  CHECK(told.out == run_command(dir, {"report", a, b}).out);
  const Ran mapped = run_command(dir, {"map", job, "-t", "core:4 pu:1"});
  CHECK(mapped.status == 1);
  CHECK(unfolded(mapped.err).find("holds the recordings of 2 nodes, and a mapping is of one") !=
        std::string::npos);
  const Ran replayed = run_command(dir, {"replay", job});
  CHECK(replayed.status == 1);
  CHECK(unfolded(replayed.err)
            .find("is the report of a job, which holds no traffic over time; "
                  "give the report of one node") != std::string::npos);
}

TEST_CASE("report refuses a second report of a node in a step, in every format") {
  const TempDir dir;
  const std::string a = write_report(dir, kFirst), b = write_report(dir, kSecond),
                    again = write_report(dir, {"n0", {0, 1}, {}, {}, 0, 0, 2}),
                    copy = dir.file("copy.json"), job = dir.file("job.json");
  std::filesystem::copy_file(again, copy);
  REQUIRE(run_command(dir, {"profile", "merge", a, b, "-o", job}).status == 0);
  for (const char* format : {"text", "html", "json", "prom", "influx"}) {
    const auto refuses = [&](const std::string& one, const std::string& other,
                             const std::string& run) {
      const Ran ran = run_command(dir, {"report", one, other, "-f", format});
      CAPTURE(format, ran.err);
      CHECK(ran.status == 1);
      CHECK(ran.out.empty());
      CHECK(unfolded(ran.err).find("are both of job 7 step 0 on " + run + "; give one of them") !=
            std::string::npos);
    };
    refuses(a, a, "n0");
    refuses(job, b, "n1");
    refuses(again, copy, "n0, restart 2");
    CHECK(run_command(dir, {"report", job, again, "-f", format}).status == 0);
  }
}

TEST_CASE("replays of one step are told together where nobody has to tell them by labels") {
  const TempDir dir;
  const std::string profile = write_profile(dir, 2, {{5, 0, 1, 10}});
  const auto told = [&](const char* format) {
    return run_command(dir, {"report", profile, profile, "-t", "core:2 pu:1", "-f", format});
  };
  for (const char* format : {"text", "html", "json"}) CHECK(told(format).status == 0);
  for (const char* format : {"prom", "influx"}) {
    CHECK(told(format).status == 1);
    CHECK(unfolded(told(format).err).find("; give one of them") != std::string::npos);
  }
}

TEST_CASE("report tells monitoring which run of a requeued job it is of") {
  const TempDir dir;
  const std::string first = write_report(dir, kFirst),
                    again = write_report(dir, {"n0", {0, 1}, {}, {}, 0, 0, 2});
  const auto told = [&](const char* format) {
    const Ran ran = run_command(dir, {"report", first, again, "-f", format});
    CHECK(ran.status == 0);
    return ran.out;
  };
  const std::string prom = told("prom"), influx = told("influx");
  CAPTURE(prom, influx);
  CHECK(prom.find("\nondeloc_ranks{job=\"7\",step=\"0\",node=\"n0\"} 2\n"
                  "ondeloc_ranks{job=\"7\",step=\"0\",node=\"n0\",restarts=\"2\"} 2\n") !=
        prom.npos);
  CHECK(influx.starts_with("ondeloc,job=7,step=0,node=n0 "));
  CHECK(influx.find("\nondeloc,job=7,step=0,node=n0,restarts=2 ") != influx.npos);
  const auto json = nlohmann::json::parse(told("json"));
  CHECK(told("text").find("\njob 7 step 0 on n0, restart 2: 2 ranks,") != std::string::npos);
  CHECK_FALSE(json[0].contains("restarts"));
  CHECK(json[1]["restarts"] == 2);
}

TEST_CASE("the columns of the ranks are as wide as their longest list of CPUs") {
  const TempDir dir;
  const std::string report = dir.file("wide.json");
  write_text(report, R"({"version":1,"job":7,"step":0,"matrix":[],"intervals":[],"ranks":[
    {"rank":0,"initial_cpus":"0","final_cpus":"0,2,4,6,8,10,12,14","migrations":3},
    {"rank":1,"initial_cpus":"1","final_cpus":"1","migrations":4}]})");
  const std::string text = run_command(dir, {"report", report}).out;
  CHECK(text.find(" across NUMA peak load ") != text.npos);  // "nodes" alone are other machines
  CHECK(text.find("\n       CPUs at the start  CPUs at the end    migrations\n"
                  "    0  0                  0,2,4,6,8,10,12,14 3\n"
                  "    1  1                  1                  4\n") != text.npos);
}

TEST_CASE("every format of a report counts bytes that are in no interval") {
  const TempDir dir;
  const std::string report = write_report(dir, kFirst);
  const auto told = [&](const char* format) {
    const Ran ran = run_command(dir, {"report", report, "-f", format});
    CHECK(ran.status == 0);
    return ran.out;
  };
  const auto json = nlohmann::json::parse(told("json"));
  CHECK(json[0]["bytes_total"] == 10);
  CHECK(json[0]["off_node_bytes_total"] == 3000);
  CHECK(told("prom").find("\nondeloc_bytes_total{job=\"7\",step=\"0\",node=\"n0\"} 10\n") !=
        std::string::npos);
  CHECK(told("influx").find(",off_node_bytes_total=3000,") != std::string::npos);
  CHECK(told("html").find(R"(["Bytes to other nodes","3 kB"])") != std::string::npos);
}

TEST_CASE("reports that do not belong together are refused") {
  const TempDir dir;
  const std::string a = write_report(dir, kFirst);
  struct Wrong {
    Node node;
    const char* problem;
  };
  for (const Wrong& wrong :
       {Wrong{{"n1", {2, 3}, {}, {}, 0, 1}, "of job 7 step 0, and"},
        {{"n1", {2, 3}, {}, {}, 0, 0, 2},
         "of job 7 step 0, restart 2; give the reports of one step"},
        {{"n1", {1, 2}, {}, {}}, "rank 1 is in '"},
        {{"n1", {2, 4}, {}, {{4, 5, 1}}}, "no file has what rank 3 sent"},
        {{"n1", {2, 3}, {}, {{2, 0, 1}}, 100000}, "names the receivers of few bytes"}}) {
    const Ran ran = place(dir, {a, write_report(dir, wrong.node)});
    CAPTURE(wrong.problem, ran.err);
    CHECK(ran.status == 1);
    CHECK(unfolded(ran.err).find(wrong.problem) != std::string::npos);
  }
  const Ran some = place(dir, {a, write_report(dir, {"n1", {2, 3}, {}, {{2, 0, 300}}, 50})});
  CHECK(some.status == 0);
  CHECK(unfolded(some.err).find("50 B of 3.36 kB went to ranks on other nodes") !=
        std::string::npos);
  const std::string profile = write_profile(dir, 2, {{5, 0, 1, 10}}), csv = dir.file("bytes.csv");
  const auto merged = [&](const std::string& one, const std::string& other) {
    return run_command(dir, {"profile", "merge", one, other, "-o", dir.file("job.json")});
  };
  const Ran mixed = merged(a, profile);
  CHECK(mixed.status == 1);
  CHECK(unfolded(mixed.err).find("give profiles only, or reports only") != std::string::npos);
  write_text(csv, "src,dst,bytes\n0,1,5\n");
  for (const Ran& matrix : {merged(csv, a), merged(a, csv)}) {
    CHECK(matrix.status == 1);
    CHECK(matrix.err.ends_with(
        "bytes.csv' is a matrix in CSV; give the profiles, or the reports, of the nodes of a "
        "step\n"));
  }
  write_text(dir.file("odd.json"), R"({"step":0,"nodes":[{"ranks":3}]})");
  CHECK(place(dir, {dir.file("odd.json")}).status == 1);
}
