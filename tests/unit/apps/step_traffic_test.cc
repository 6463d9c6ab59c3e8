// SPDX-License-Identifier: Apache-2.0
// The traffic of a step from several files: ondeloc place and ondeloc compare --nodes.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/unit/apps/command.h"

using namespace ondeloc;

namespace {

// Four ranks on two nodes; each rank sends 10 B to one of the other node.
std::string node_profile(const TempDir& dir, std::uint32_t node) {
  profile_format::FileHeader header = small_header(4);
  header.node = "n" + std::to_string(node);
  header.local_ranks = 2;
  const std::string path = dir.file("app." + header.node);
  auto writer = ProfileWriter::create(path, header);
  for (std::uint32_t rank = 2 * node; rank < 2 * node + 2; ++rank)
    REQUIRE(writer->add({5, rank, (rank + 2) % 4, 10}).ok());
  REQUIRE(writer->add_drops(std::vector<RankDrops>{{2 * node, 0, 0}, {2 * node + 1, 0, 0}}).ok());
  REQUIRE(writer->finish().ok());
  return path;
}

std::string copy_of(const std::string& path) {
  std::filesystem::copy_file(path, path + ".copy");
  return path + ".copy";
}

Ran place(const TempDir& dir, std::vector<std::string> words) {
  words.insert(words.begin(), "place");
  words.insert(words.end(), {"-t", "core:2 pu:1", "-N", "2"});
  return run_command(dir, words);
}

void check_refused(const Ran& ran, const std::string& problem) {
  std::string line = ran.err;
  std::replace(line.begin(), line.end(), '\n', ' ');
  CAPTURE(problem, line);
  CHECK(ran.status == 1);
  CHECK(line.find(problem) != std::string::npos);
}

}  // namespace

TEST_CASE("place takes the profiles of all nodes, and no report of one") {
  const TempDir dir;
  const std::string first = node_profile(dir, 0), second = node_profile(dir, 1);
  const Ran both = place(dir, {first, second});
  CAPTURE(both.err);
  CHECK(both.status == 0);
  check_refused(place(dir, {second}), "no file has what rank 0 sent");
  write_text(dir.file("report.json"), R"({"version":1,"node":"n1",
    "ranks":[{"rank":0,"final_cpus":"0"},{"rank":1,"final_cpus":"1"}],
    "matrix":[{"src":0,"dst":1,"bytes":9,"messages":1}],
    "off_node":[{"src":0,"bytes":9,"messages":1}],"intervals":[]})");
  check_refused(place(dir, {dir.file("report.json")}), "is the report of one node of several");
}

TEST_CASE("place counts no message twice") {
  const TempDir dir;
  const std::string first = node_profile(dir, 0), second = node_profile(dir, 1);
  check_refused(place(dir, {first, second, dir.file("./app.n0")}), "are the same file");
  check_refused(place(dir, {first, second, copy_of(second)}), "both hold what rank 2 sent");
  write_text(dir.file("report.json"), R"({"version":1,"node":"n0",
    "ranks":[{"rank":0,"final_cpus":"0"},{"rank":1,"final_cpus":"1"}],
    "matrix":[{"src":0,"dst":1,"bytes":9,"messages":1}],"intervals":[]})");
  check_refused(place(dir, {first, second, dir.file("report.json")}), "both hold what rank 0 sent");
  const std::string whole = dir.file("app.whole");
  REQUIRE(run_command(dir, {"profile", "merge", first, second, "-o", whole}).status == 0);
  CHECK(place(dir, {whole}).out == place(dir, {first, second}).out);
  for (const std::string& other : {second, copy_of(whole)}) {
    const std::string problem = "is the profile of all ranks of a step; leave out the other files";
    check_refused(place(dir, {whole, other}), problem);
    check_refused(run_command(dir, {"compare", whole, other, "-N", "2", "-t", "core:2 pu:1"}),
                  problem);
  }
}

TEST_CASE("place adds up matrices, each once") {
  const TempDir dir;
  const std::string one = dir.file("one.mat");
  write_text(one, "0 5\n5 0\n");
  check_refused(place(dir, {one, one}), "are the same file; give each file once");
  const Ran both = place(dir, {one, copy_of(one), "-n", "4"});
  CHECK(both.status == 0);
}
