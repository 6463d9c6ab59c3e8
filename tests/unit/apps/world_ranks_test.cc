// SPDX-License-Identifier: Apache-2.0
// The ranks of one node of a large step have large numbers.
#include "tests/unit/apps/command.h"

using namespace ondeloc;

TEST_CASE("mappings and reports of a node may name every rank of MPI_COMM_WORLD") {
  const TempDir dir;
  const std::string report = dir.file("r.json"), json = dir.file("m.json"),
                    ranks = dir.file("m.rank");
  write_text(report, R"({"version":1,"node":"n1","job":1,"step":0,"mode":"online",
    "ranks":[{"rank":4999,"initial_cpus":"0","final_cpus":"1"},
             {"rank":5001,"initial_cpus":"1","final_cpus":"0"}],
    "matrix":[{"src":4999,"dst":5001,"bytes":1000,"messages":1}],
    "off_node":[{"src":5001,"bytes":5000,"messages":2}],
    "intervals":[{"t":1,"bytes":1000}]})");
  const auto ran = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"-t", "numa:2 core:1 pu:1"});
    return run_command(dir, words);
  };
  REQUIRE(ran({"map", report, "-f", "json", "-o", json}).status == 0);
  REQUIRE(ran({"map", report, "-f", "rankfile", "-o", ranks}).status == 0);
  for (const std::string& mapping : {report, json, ranks}) {
    for (const std::vector<std::string>& words :
         {std::vector<std::string>{"evaluate", report, "--mapping", mapping},
          {"compare", report, "-p", mapping},
          {"replay", report, "-p", mapping},
          {"heatmap", report, "-m", mapping, "-o", dir.file("h.svg")}}) {
      const Ran one = ran(words);
      CAPTURE(words[0], mapping, one.err);
      CHECK(one.status == 0);
    }
  }
  write_text(ranks, "rank 4999=n1 slot=0\n");
  CHECK(ran({"replay", report, "-p", ranks}).err.find("does not place rank 5001") !=
        std::string::npos);
}
